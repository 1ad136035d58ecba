DELETE FROM perennial.wakes WHERE key = ANY ($1)
