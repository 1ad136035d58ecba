SELECT position, value
FROM perennial.logs
WHERE key = $1 AND log = $2 AND position BETWEEN $3 AND $4
ORDER BY position DESC
LIMIT $5
