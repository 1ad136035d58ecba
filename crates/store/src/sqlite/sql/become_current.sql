INSERT INTO current_runs (namespace, workflow_id, run_key)
SELECT namespace, workflow_id, run_key FROM runs WHERE run_key = ?1
ON CONFLICT DO UPDATE SET run_key = excluded.run_key
