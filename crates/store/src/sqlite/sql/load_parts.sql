SELECT kind, id, value FROM parts WHERE run_key = ?1 ORDER BY kind, id
