DELETE FROM perennial.records
USING unnest($1, $2) AS gone (kind, key)
WHERE records.kind = gone.kind AND records.key = gone.key
