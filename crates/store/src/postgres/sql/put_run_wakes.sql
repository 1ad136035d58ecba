INSERT INTO perennial.wakes (key, kind, bucket, slot, wake_at)
SELECT new.key, 1, runs.slot / 64, runs.slot, new.wake_at
FROM unnest($1, $2) AS new (key, wake_at)
JOIN perennial.runs ON runs.run_key = new.key
ON CONFLICT (key) DO UPDATE SET wake_at = excluded.wake_at
