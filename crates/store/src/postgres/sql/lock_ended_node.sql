-- A renewal that is under way ends first, and then the lease runs again. A later one waits, and then shows whose the cell is.
SELECT 1 FROM perennial.nodes WHERE id = $1 AND lease_ends_at <= clock_timestamp() FOR SHARE
