UPDATE runs SET wake_at = ?2 WHERE run_key = ?1
