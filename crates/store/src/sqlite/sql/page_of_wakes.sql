-- Each table in two, so that a page begins in the index where the one before ended, also among many of one
-- instant. Every part comes in the order of its index, and SQLite merges them row by row: nothing is sorted,
-- and nothing is read beyond the page.
SELECT wake_at, run_key AS key, slot, namespace, workflow_id, run_id
FROM runs
WHERE wake_at = ?1 AND run_key > ?2 AND wake_at <= ?3
UNION ALL
SELECT wake_at, run_key, slot, namespace, workflow_id, run_id
FROM runs
WHERE wake_at > ?1 AND wake_at <= ?3
UNION ALL
SELECT wake_at, schedule_key, slot, namespace, schedule_id, NULL
FROM schedules
WHERE wake_at = ?1 AND schedule_key > ?2 AND wake_at <= ?3
UNION ALL
SELECT wake_at, schedule_key, slot, namespace, schedule_id, NULL
FROM schedules
WHERE wake_at > ?1 AND wake_at <= ?3
ORDER BY wake_at, key
LIMIT ?4
