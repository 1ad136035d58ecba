-- Head and parts in one statement: they are of one state.
SELECT
    wanted.place,
    runs.run_key,
    runs.head,
    runs.first_branch,
    first.first_event_id,
    first.last_event_id,
    first.bytes,
    TRUE,
    own.kinds,
    own.ids,
    own."values"
FROM unnest($1, $2, $3) AS wanted (place, namespace, workflow_id)
JOIN perennial.current_runs
    ON current_runs.namespace = wanted.namespace AND current_runs.workflow_id = wanted.workflow_id
JOIN perennial.runs ON runs.run_key = current_runs.run_key
LEFT JOIN perennial.history AS first ON first.branch = runs.first_branch AND first.first_event_id = 1
CROSS JOIN LATERAL (
    SELECT
        array_agg(kind ORDER BY kind, id) AS kinds,
        array_agg(id ORDER BY kind, id) AS ids,
        array_agg(value ORDER BY kind, id) AS "values"
    FROM perennial.parts
    WHERE parts.key = runs.run_key
) AS own
