-- Down to the fragment that holds the first event wanted: the one that begins last before it.
SELECT first_event_id, last_event_id, bytes
FROM history
WHERE branch = ?1
  AND first_event_id >= COALESCE(
      (SELECT MAX(first_event_id) FROM history WHERE branch = ?1 AND first_event_id <= ?2), ?2)
  AND first_event_id <= ?3
  AND last_event_id >= ?2
ORDER BY first_event_id DESC
