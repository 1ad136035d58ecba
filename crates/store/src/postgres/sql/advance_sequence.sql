-- The fence. It has to fail rather than change no row: the statements behind it are on their way already.
WITH advanced AS (
    UPDATE perennial.cells SET sequence = $4
    WHERE first_slot = $1 AND epoch = $2 AND sequence = $3
    RETURNING 1
)
SELECT 1 / count(*) FROM advanced
