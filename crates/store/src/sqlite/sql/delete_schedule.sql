DELETE FROM schedules WHERE schedule_key = ?1
