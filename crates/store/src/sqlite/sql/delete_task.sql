DELETE FROM tasks WHERE key = ?1
