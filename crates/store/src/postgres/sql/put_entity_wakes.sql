INSERT INTO perennial.wakes (key, kind, bucket, slot, wake_at)
SELECT new.key, entities.kind, entities.slot / 64, entities.slot, new.wake_at
FROM unnest($1, $2) AS new (key, wake_at)
JOIN perennial.entities ON entities.key = new.key
ON CONFLICT (key) DO UPDATE SET wake_at = excluded.wake_at
