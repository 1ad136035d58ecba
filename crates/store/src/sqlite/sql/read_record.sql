SELECT value FROM records WHERE kind = ?1 AND key = ?2
