-- A branch is in use while its run is there, or one that goes on from it.
WITH no_references AS (
    DELETE FROM perennial.branch_references WHERE run_key = ANY ($1) RETURNING branch
), candidates AS (
    SELECT branch FROM no_references UNION SELECT unnest($1)
)
DELETE FROM perennial.history
USING candidates
WHERE history.branch = candidates.branch
  AND NOT EXISTS (SELECT 1 FROM perennial.runs WHERE runs.run_key = candidates.branch)
  AND NOT EXISTS (
      SELECT 1 FROM perennial.branch_references AS others
      WHERE others.branch = candidates.branch AND others.run_key <> ALL ($1)
  )
