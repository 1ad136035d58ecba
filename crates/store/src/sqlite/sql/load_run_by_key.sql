SELECT
    runs.run_key,
    runs.head,
    runs.first_branch,
    first.first_event_id,
    first.last_event_id,
    first.bytes,
    COALESCE(current_runs.run_key = runs.run_key, FALSE)
FROM runs
LEFT JOIN history AS first ON first.branch = runs.first_branch AND first.first_event_id = 1
LEFT JOIN current_runs
    ON current_runs.namespace = runs.namespace AND current_runs.workflow_id = runs.workflow_id
WHERE runs.run_key = ?1
