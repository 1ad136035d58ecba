DELETE FROM schedule_log WHERE schedule_key = ?1
