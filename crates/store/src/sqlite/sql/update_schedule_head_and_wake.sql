UPDATE schedules SET head = ?2, wake_at = ?3 WHERE schedule_key = ?1
