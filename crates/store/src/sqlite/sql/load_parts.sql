SELECT kind, id, value FROM parts WHERE key = ?1 ORDER BY kind, id
