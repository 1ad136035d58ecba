UPDATE runs SET head = ?2 WHERE run_key = ?1
