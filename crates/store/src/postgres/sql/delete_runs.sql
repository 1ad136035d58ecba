-- Keys of runs and of other entities never have the same number, so an unknown run has no other rows.
WITH gone AS (
    DELETE FROM perennial.runs WHERE run_key = ANY ($1) RETURNING run_key
), no_parts AS (
    DELETE FROM perennial.parts USING gone WHERE parts.key = gone.run_key
), no_wakes AS (
    DELETE FROM perennial.wakes USING gone WHERE wakes.key = gone.run_key
)
DELETE FROM perennial.visibility USING gone WHERE visibility.run_key = gone.run_key
