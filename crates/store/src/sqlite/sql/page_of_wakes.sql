-- Each table in two, so that a page begins in the index where the one before ended, also among many of one
-- instant. Every part comes in the order of its index, and SQLite merges them row by row: nothing is sorted,
-- and nothing is read beyond the page. Rows of other cells' slots are passed over.
SELECT wake_at, run_key AS key, 1 AS kind, namespace, workflow_id, run_id
FROM runs
WHERE wake_at = ?1 AND run_key > ?2 AND wake_at <= ?3 AND slot BETWEEN ?4 AND ?5
UNION ALL
SELECT wake_at, run_key, 1, namespace, workflow_id, run_id
FROM runs
WHERE wake_at > ?1 AND wake_at <= ?3 AND slot BETWEEN ?4 AND ?5
UNION ALL
SELECT wake_at, key, kind, namespace, id, NULL
FROM entities
WHERE wake_at = ?1 AND key > ?2 AND wake_at <= ?3 AND slot BETWEEN ?4 AND ?5
UNION ALL
SELECT wake_at, key, kind, namespace, id, NULL
FROM entities
WHERE wake_at > ?1 AND wake_at <= ?3 AND slot BETWEEN ?4 AND ?5
ORDER BY wake_at, key
LIMIT ?6
