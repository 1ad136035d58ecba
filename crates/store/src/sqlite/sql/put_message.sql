INSERT INTO messages (key, slot, value) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET slot = excluded.slot, value = excluded.value
