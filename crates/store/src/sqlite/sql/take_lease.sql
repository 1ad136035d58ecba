-- A greater epoch than any cell ever had.
INSERT INTO leases (cell, epoch, sequence)
SELECT ?1, COALESCE(MAX(epoch), 0) + 1, 0 FROM leases WHERE TRUE
ON CONFLICT (cell) DO UPDATE SET epoch = excluded.epoch, sequence = 0
RETURNING epoch
