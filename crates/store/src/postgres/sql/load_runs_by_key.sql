-- Head and parts in one statement: they are of one state.
SELECT
    wanted.place,
    runs.run_key,
    runs.head,
    runs.first_branch,
    first.first_event_id,
    first.last_event_id,
    first.bytes,
    COALESCE(current_runs.run_key = runs.run_key, FALSE),
    own.kinds,
    own.ids,
    own."values"
FROM unnest($1, $2) AS wanted (place, run_key)
JOIN perennial.runs ON runs.run_key = wanted.run_key
LEFT JOIN perennial.history AS first ON first.branch = runs.first_branch AND first.first_event_id = 1
LEFT JOIN perennial.current_runs
    ON current_runs.namespace = runs.namespace AND current_runs.workflow_id = runs.workflow_id
CROSS JOIN LATERAL (
    SELECT
        array_agg(kind ORDER BY kind, id) AS kinds,
        array_agg(id ORDER BY kind, id) AS ids,
        array_agg(value ORDER BY kind, id) AS "values"
    FROM perennial.parts
    WHERE parts.key = runs.run_key
) AS own
