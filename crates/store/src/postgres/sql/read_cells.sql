SELECT first_slot, last_slot, owner, epoch, sequence FROM perennial.cells ORDER BY first_slot
