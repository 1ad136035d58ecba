DELETE FROM current_runs
WHERE (namespace, workflow_id) = (SELECT namespace, workflow_id FROM runs WHERE run_key = ?1)
  AND run_key = ?1
