UPDATE schedules SET head = ?2 WHERE schedule_key = ?1
