DELETE FROM parts WHERE run_key = ?1 AND kind = ?2 AND id = ?3
