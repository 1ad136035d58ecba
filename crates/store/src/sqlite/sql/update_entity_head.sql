UPDATE entities SET head = ?3 WHERE key = ?1 AND kind = ?2
