DELETE FROM perennial.current_runs
USING perennial.runs
WHERE runs.run_key = ANY ($1)
  AND current_runs.namespace = runs.namespace
  AND current_runs.workflow_id = runs.workflow_id
  AND current_runs.run_key = runs.run_key
