-- Nodes do this at the same time: each skips what another one is at.
DELETE FROM perennial.nodes
WHERE id IN (
    SELECT id
    FROM perennial.nodes AS ended
    WHERE lease_ends_at < clock_timestamp() - make_interval(secs => $1)
      AND NOT EXISTS (SELECT 1 FROM perennial.cells WHERE cells.owner = ended.id)
    FOR UPDATE OF ended SKIP LOCKED
)
