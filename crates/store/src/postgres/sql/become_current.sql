-- Of several runs of one workflow id the last one wins.
INSERT INTO perennial.current_runs (namespace, workflow_id, run_key)
SELECT DISTINCT ON (runs.namespace, runs.workflow_id) runs.namespace, runs.workflow_id, runs.run_key
FROM unnest($1) WITH ORDINALITY AS new (run_key, place)
JOIN perennial.runs ON runs.run_key = new.run_key
ORDER BY runs.namespace, runs.workflow_id, new.place DESC
ON CONFLICT (namespace, workflow_id) DO UPDATE SET run_key = excluded.run_key
