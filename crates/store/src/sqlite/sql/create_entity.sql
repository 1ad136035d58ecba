INSERT INTO entities (key, namespace, id, slot, wake_at, head, kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
