-- Changes no row if the cell has another owner, or the batch isn't the next one.
UPDATE cells SET sequence = ?3 WHERE first_slot = ?1 AND epoch = ?2 AND sequence = ?3 - 1
