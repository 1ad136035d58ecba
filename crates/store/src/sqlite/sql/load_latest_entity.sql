SELECT key, head
FROM entities
WHERE namespace = ?1 AND kind = ?2 AND id = ?3
ORDER BY key DESC
LIMIT 1
