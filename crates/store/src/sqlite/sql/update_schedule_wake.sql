UPDATE schedules SET wake_at = ?2 WHERE schedule_key = ?1
