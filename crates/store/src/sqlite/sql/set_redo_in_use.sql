UPDATE redo SET in_use = ?1 WHERE only_row = 1
