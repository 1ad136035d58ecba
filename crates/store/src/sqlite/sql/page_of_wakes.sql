SELECT wake_at, run_key, slot, namespace, workflow_id, run_id
FROM runs
WHERE wake_at IS NOT NULL
  AND wake_at >= ?1
  AND (wake_at > ?1 OR run_key > ?2)
  AND wake_at <= ?3
ORDER BY wake_at, run_key
LIMIT ?4
