-- The kind, the head, and whether it is the latest of its id.
SELECT
    kind,
    head,
    NOT EXISTS (
        SELECT 1 FROM entities AS later
        WHERE (later.namespace, later.kind, later.id) = (entities.namespace, entities.kind, entities.id)
          AND later.key > entities.key
    )
FROM entities
WHERE key = ?1
