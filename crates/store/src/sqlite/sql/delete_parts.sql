DELETE FROM parts WHERE key = ?1
