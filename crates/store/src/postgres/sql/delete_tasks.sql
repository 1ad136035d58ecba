DELETE FROM perennial.tasks WHERE key = ANY ($1)
