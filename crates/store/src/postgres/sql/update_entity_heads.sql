-- Fails if one of the entities isn't there.
WITH updated AS (
    UPDATE perennial.entities SET head = new.head
    FROM unnest($1, $2, $3) AS new (key, kind, head)
    WHERE entities.key = new.key AND entities.kind = new.kind
    RETURNING 1
)
SELECT 1 / (CASE count(*) WHEN cardinality($1) THEN 1 ELSE 0 END) FROM updated
