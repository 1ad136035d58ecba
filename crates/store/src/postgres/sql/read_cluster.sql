-- One statement, so that cells and nodes are of one moment. Times are in microseconds.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT
    first_slot,
    last_slot,
    owner,
    epoch,
    sequence,
    (EXTRACT(EPOCH FROM clock.now) * 1000000)::BIGINT,
    NULL AS id,
    NULL::TEXT,
    NULL::BIGINT,
    NULL::BIGINT,
    NULL::TEXT,
    NULL::BOOLEAN,
    NULL::BIGINT,
    NULL::BIGINT
FROM perennial.cells, clock
UNION ALL
SELECT
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    (EXTRACT(EPOCH FROM clock.now) * 1000000)::BIGINT,
    id,
    address,
    protocol,
    oldest_protocol,
    version,
    is_leaving,
    started_at,
    (EXTRACT(EPOCH FROM lease_ends_at - clock.now) * 1000000)::BIGINT
FROM perennial.nodes, clock
ORDER BY first_slot, id
