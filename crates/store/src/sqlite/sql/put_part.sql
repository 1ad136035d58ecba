INSERT INTO parts (key, kind, id, value) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET value = excluded.value
