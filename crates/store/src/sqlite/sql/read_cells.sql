SELECT first_slot, last_slot, owner, epoch, sequence FROM cells ORDER BY first_slot
