-- Greater than any cell ever had.
SELECT COALESCE(MAX(epoch), 0) + 1 FROM cells
