SELECT database_id, in_use, settled FROM redo WHERE only_row = 1
