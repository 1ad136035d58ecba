-- Changes no row if the cell has another owner, or the batch isn't the next one.
UPDATE leases SET sequence = ?3 WHERE cell = ?1 AND epoch = ?2 AND sequence = ?3 - 1
