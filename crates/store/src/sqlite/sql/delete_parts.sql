DELETE FROM parts WHERE run_key = ?1
