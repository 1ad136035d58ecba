DELETE FROM parts WHERE key = ?1 AND kind = ?2 AND id = ?3
