INSERT INTO history (branch, first_event_id, last_event_id, bytes) VALUES (?1, ?2, ?3, ?4)
