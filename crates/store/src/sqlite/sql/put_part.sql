INSERT INTO parts (run_key, kind, id, value) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET value = excluded.value
