-- The clock is read again for an update: before it, the row may have been locked by a node that took a cell of this one.
INSERT INTO perennial.nodes AS stored
    (id, address, protocol, oldest_protocol, version, is_leaving, started_at, lease_ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + make_interval(secs => $8))
ON CONFLICT (id) DO UPDATE SET
    address = excluded.address,
    protocol = excluded.protocol,
    oldest_protocol = excluded.oldest_protocol,
    version = excluded.version,
    is_leaving = excluded.is_leaving,
    started_at = excluded.started_at,
    lease_ends_at = clock_timestamp() + make_interval(secs => $8)
