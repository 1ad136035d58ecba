INSERT INTO perennial.branch_references (run_key, branch)
SELECT DISTINCT * FROM unnest($1, $2) AS new (run_key, branch)
