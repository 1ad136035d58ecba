-- In two, so that a page begins in the index where the one before ended, also among many of one instant.
SELECT wake_at, run_key, slot, namespace, workflow_id, run_id
FROM runs
WHERE wake_at = ?1 AND run_key > ?2 AND wake_at <= ?3
UNION ALL
SELECT wake_at, run_key, slot, namespace, workflow_id, run_id
FROM runs
WHERE wake_at > ?1 AND wake_at <= ?3
ORDER BY wake_at, run_key
LIMIT ?4
