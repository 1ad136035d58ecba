SELECT key, slot, value FROM tasks WHERE key > ?1 ORDER BY key LIMIT ?2
