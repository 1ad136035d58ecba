INSERT INTO perennial.cells (first_slot, last_slot, owner, epoch, sequence)
SELECT first_slot, last_slot, '', $3, 0 FROM unnest($1, $2) AS new (first_slot, last_slot)
