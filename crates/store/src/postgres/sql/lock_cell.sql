-- Waits for the commit that another owner of the cell has under way.
SELECT first_slot, last_slot, owner, epoch, sequence
FROM perennial.cells
WHERE first_slot = $1
FOR UPDATE
