-- No row if there is no such run; 0 if its own branch holds nothing.
SELECT COALESCE((SELECT MAX(first_event_id) FROM history WHERE branch = run_key), 0)
FROM runs WHERE run_key = ?1
