INSERT INTO perennial.history (branch, first_event_id, last_event_id, bytes)
SELECT * FROM unnest($1, $2, $3, $4)
