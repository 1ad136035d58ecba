INSERT INTO perennial.runs (run_key, namespace, workflow_id, run_id, slot, first_branch, head)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)
