UPDATE perennial.visibility
SET
    status = new.status,
    close_time = new.close_time,
    execution_duration = new.execution_duration,
    history_length = new.history_length,
    history_size_bytes = new.history_size_bytes,
    state_transition_count = new.state_transition_count
FROM unnest($1, $2, $3, $4, $5, $6, $7) AS new (
    run_key,
    status,
    close_time,
    execution_duration,
    history_length,
    history_size_bytes,
    state_transition_count
)
WHERE visibility.run_key = new.run_key
