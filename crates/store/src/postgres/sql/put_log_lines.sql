INSERT INTO perennial.logs (key, log, position, value)
SELECT * FROM unnest($1, $2, $3, $4)
ON CONFLICT (key, log, position) DO UPDATE SET value = excluded.value
