-- From the fragment that holds the first event wanted, which is the one that begins last before it, as many as fit.
SELECT first_event_id, last_event_id, bytes
FROM (
    SELECT
        first_event_id,
        last_event_id,
        bytes,
        row_number() OVER (ORDER BY first_event_id) AS place,
        SUM(octet_length(bytes)) OVER (ORDER BY first_event_id) AS bytes_so_far
    FROM (
        SELECT first_event_id, last_event_id, bytes
        FROM perennial.history
        WHERE branch = $1
          AND first_event_id >= COALESCE(
              (SELECT MAX(first_event_id) FROM perennial.history WHERE branch = $1 AND first_event_id <= $2), $2)
          AND first_event_id <= $3
          AND last_event_id >= $2
        ORDER BY first_event_id
        LIMIT $5
    ) AS page
) AS fragments
WHERE place = 1 OR bytes_so_far <= $4
ORDER BY first_event_id
