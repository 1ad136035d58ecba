SELECT first_slot, last_slot, owner, epoch, sequence FROM cells WHERE first_slot = ?1
