-- Fails if one of the runs isn't there.
SELECT 1 / (CASE count(*) WHEN cardinality($1) THEN 1 ELSE 0 END)
FROM perennial.runs
WHERE run_key = ANY ($1)
