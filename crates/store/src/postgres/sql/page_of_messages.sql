-- One look into the index for each bucket of slots, then a merge.
SELECT page.key, page.slot, page.value
FROM generate_series($2 / 64, $3 / 64) AS buckets (bucket)
CROSS JOIN LATERAL (
    SELECT key, slot, value
    FROM perennial.messages
    WHERE messages.bucket = buckets.bucket AND key > $1 AND slot BETWEEN $2 AND $3
    ORDER BY key
    LIMIT $4
) AS page
ORDER BY page.key
LIMIT $4
