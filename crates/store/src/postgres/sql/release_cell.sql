UPDATE perennial.cells SET owner = '' WHERE first_slot = $1 AND epoch = $2 RETURNING first_slot
