INSERT INTO perennial.tasks (key, bucket, slot, value)
SELECT key, slot / 64, slot, value FROM unnest($1, $2, $3) AS new (key, slot, value)
ON CONFLICT (key) DO UPDATE SET bucket = excluded.bucket, slot = excluded.slot, value = excluded.value
