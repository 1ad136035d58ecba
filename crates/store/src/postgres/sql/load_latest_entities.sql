-- Head and parts in one statement: they are of one state.
SELECT
    wanted.place,
    latest.key,
    latest.kind,
    latest.head,
    TRUE,
    own.kinds,
    own.ids,
    own."values"
FROM unnest($1, $2, $3, $4) AS wanted (place, namespace, kind, id)
CROSS JOIN LATERAL (
    SELECT key, kind, head
    FROM perennial.entities
    WHERE entities.namespace = wanted.namespace AND entities.kind = wanted.kind AND entities.id = wanted.id
    ORDER BY key DESC
    LIMIT 1
) AS latest
CROSS JOIN LATERAL (
    SELECT
        array_agg(kind ORDER BY kind, id) AS kinds,
        array_agg(id ORDER BY kind, id) AS ids,
        array_agg(value ORDER BY kind, id) AS "values"
    FROM perennial.parts
    WHERE parts.key = latest.key
) AS own
