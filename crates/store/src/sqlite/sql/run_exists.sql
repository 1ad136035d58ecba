SELECT 1 FROM runs WHERE run_key = ?1
