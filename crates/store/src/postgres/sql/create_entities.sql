INSERT INTO perennial.entities (key, namespace, kind, id, slot, head)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6)
