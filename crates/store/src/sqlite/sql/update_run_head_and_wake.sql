UPDATE runs SET head = ?2, wake_at = ?3 WHERE run_key = ?1
