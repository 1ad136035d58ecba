INSERT INTO perennial.records (kind, key, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
