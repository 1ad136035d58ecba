SELECT
    runs.run_key,
    runs.head,
    runs.first_branch,
    first.first_event_id,
    first.last_event_id,
    first.bytes,
    TRUE
FROM current_runs
CROSS JOIN runs ON runs.run_key = current_runs.run_key
LEFT JOIN history AS first ON first.branch = runs.first_branch AND first.first_event_id = 1
WHERE current_runs.namespace = ?1 AND current_runs.workflow_id = ?2
