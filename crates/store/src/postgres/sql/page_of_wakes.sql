-- One look into the index for each bucket of slots, then a merge.
SELECT
    page.wake_at,
    page.key,
    page.kind,
    COALESCE(runs.namespace, entities.namespace),
    COALESCE(runs.workflow_id, entities.id),
    runs.run_id
FROM (
    SELECT due.wake_at, due.key, due.kind
    FROM generate_series($4 / 64, $5 / 64) AS buckets (bucket)
    CROSS JOIN LATERAL (
        SELECT wake_at, key, kind
        FROM perennial.wakes
        WHERE wakes.bucket = buckets.bucket
          AND (wake_at, key) > ($1, $2)
          AND wake_at <= $3
          AND slot BETWEEN $4 AND $5
        ORDER BY wake_at, key
        LIMIT $6
    ) AS due
    ORDER BY due.wake_at, due.key
    LIMIT $6
) AS page
LEFT JOIN perennial.runs ON page.kind = 1 AND runs.run_key = page.key
LEFT JOIN perennial.entities ON page.kind <> 1 AND entities.key = page.key
ORDER BY page.wake_at, page.key
