SELECT 1 FROM entities WHERE key = ?1 AND kind = ?2
