SELECT key, value
FROM perennial.records
WHERE kind = $1 AND key >= $2 AND key > $3
ORDER BY key
LIMIT $4
