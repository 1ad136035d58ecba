SELECT first_slot FROM perennial.cells WHERE owner = $1 ORDER BY first_slot FOR UPDATE
