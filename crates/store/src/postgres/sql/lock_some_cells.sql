SELECT first_slot, last_slot, owner, epoch, sequence
FROM perennial.cells
WHERE first_slot = ANY ($1)
ORDER BY first_slot
FOR UPDATE
