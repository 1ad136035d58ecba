-- A branch is in use while its run is there, or one that goes on from it.
DELETE FROM history
WHERE branch = ?1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE run_key = ?1)
  AND NOT EXISTS (SELECT 1 FROM branch_references WHERE branch_references.branch = ?1)
