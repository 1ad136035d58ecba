UPDATE redo SET settled = ?1 WHERE only_row = 1
