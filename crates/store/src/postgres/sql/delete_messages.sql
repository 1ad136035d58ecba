DELETE FROM perennial.messages WHERE key = ANY ($1)
