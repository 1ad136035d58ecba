SELECT first_slot FROM perennial.cells ORDER BY first_slot FOR UPDATE
