SELECT schedule_key, head
FROM schedules
WHERE namespace = ?1 AND schedule_id = ?2
ORDER BY schedule_key DESC
LIMIT 1
