SELECT 1 FROM schedules WHERE schedule_key = ?1
