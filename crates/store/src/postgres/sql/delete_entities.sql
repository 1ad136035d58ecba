WITH gone AS (
    DELETE FROM perennial.entities
    USING unnest($1, $2) AS deleted (key, kind)
    WHERE entities.key = deleted.key AND entities.kind = deleted.kind
    RETURNING entities.key
), no_parts AS (
    DELETE FROM perennial.parts USING gone WHERE parts.key = gone.key
), no_wakes AS (
    DELETE FROM perennial.wakes USING gone WHERE wakes.key = gone.key
), no_logs AS (
    DELETE FROM perennial.logs USING gone WHERE logs.key = gone.key
)
DELETE FROM perennial.visibility USING gone WHERE visibility.run_key = gone.key
