DELETE FROM logs WHERE key = ?1
