-- Head and parts in one statement: they are of one state.
SELECT
    wanted.place,
    entities.key,
    entities.kind,
    entities.head,
    NOT EXISTS (
        SELECT 1 FROM perennial.entities AS later
        WHERE later.namespace = entities.namespace
          AND later.kind = entities.kind
          AND later.id = entities.id
          AND later.key > entities.key
    ),
    own.kinds,
    own.ids,
    own."values"
FROM unnest($1, $2) AS wanted (place, key)
JOIN perennial.entities ON entities.key = wanted.key
CROSS JOIN LATERAL (
    SELECT
        array_agg(kind ORDER BY kind, id) AS kinds,
        array_agg(id ORDER BY kind, id) AS ids,
        array_agg(value ORDER BY kind, id) AS "values"
    FROM perennial.parts
    WHERE parts.key = entities.key
) AS own
