DELETE FROM perennial.parts
USING unnest($1, $2, $3) AS gone (key, kind, id)
WHERE parts.key = gone.key AND parts.kind = gone.kind AND parts.id = gone.id
