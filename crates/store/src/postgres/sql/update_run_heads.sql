-- Fails if one of the runs isn't there.
WITH updated AS (
    UPDATE perennial.runs SET head = new.head
    FROM unnest($1, $2) AS new (run_key, head)
    WHERE runs.run_key = new.run_key
    RETURNING 1
)
SELECT 1 / (CASE count(*) WHEN cardinality($1) THEN 1 ELSE 0 END) FROM updated
