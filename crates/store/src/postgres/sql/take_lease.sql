UPDATE perennial.cells SET owner = $2, epoch = $3, sequence = 0 WHERE first_slot = $1
