INSERT INTO perennial.parts (key, kind, id, value)
SELECT * FROM unnest($1, $2, $3, $4)
ON CONFLICT (key, kind, id) DO UPDATE SET value = excluded.value
