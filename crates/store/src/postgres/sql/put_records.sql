INSERT INTO perennial.records (kind, key, value)
SELECT * FROM unnest($1, $2, $3)
ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value
