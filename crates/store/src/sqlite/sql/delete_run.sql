DELETE FROM runs WHERE run_key = ?1
