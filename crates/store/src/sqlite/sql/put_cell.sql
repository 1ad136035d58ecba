INSERT INTO cells (first_slot, last_slot, owner, epoch, sequence) VALUES (?1, ?2, '', ?3, 0)
