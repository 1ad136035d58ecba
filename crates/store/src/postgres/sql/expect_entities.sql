-- Fails if one of the entities isn't there.
SELECT 1 / (CASE count(*) WHEN cardinality($1) THEN 1 ELSE 0 END)
FROM perennial.entities
JOIN unnest($1, $2) AS expected (key, kind)
    ON entities.key = expected.key AND entities.kind = expected.kind
