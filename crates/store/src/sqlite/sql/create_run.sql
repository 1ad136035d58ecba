INSERT INTO runs (run_key, namespace, workflow_id, run_id, slot, first_branch, wake_at, head)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
