SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM perennial.records WHERE kind = $1 AND key = $2)
