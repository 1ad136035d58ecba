UPDATE entities SET wake_at = ?3 WHERE key = ?1 AND kind = ?2
