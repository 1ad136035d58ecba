SELECT key, slot, value FROM messages WHERE key > ?1 ORDER BY key LIMIT ?2
