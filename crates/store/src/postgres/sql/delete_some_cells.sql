DELETE FROM perennial.cells WHERE first_slot = ANY ($1)
