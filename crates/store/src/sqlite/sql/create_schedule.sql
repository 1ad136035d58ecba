INSERT INTO schedules (schedule_key, namespace, schedule_id, slot, wake_at, head)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
