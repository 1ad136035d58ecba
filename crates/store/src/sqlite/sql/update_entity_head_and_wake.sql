UPDATE entities SET head = ?3, wake_at = ?4 WHERE key = ?1 AND kind = ?2
