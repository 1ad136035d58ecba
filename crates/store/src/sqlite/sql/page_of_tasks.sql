SELECT key, slot, value
FROM tasks
WHERE key > ?1 AND slot BETWEEN ?2 AND ?3
ORDER BY key
LIMIT ?4
