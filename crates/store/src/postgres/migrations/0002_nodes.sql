-- The nodes that share the database. A node may own cells while its lease runs. Its row changes every second: most of each
-- page is left free, so that new versions stay on it, and no changing column is indexed.
CREATE TABLE perennial.nodes (
    id              TEXT COLLATE "C" PRIMARY KEY,
    address         TEXT NOT NULL,
    protocol        BIGINT NOT NULL,
    oldest_protocol BIGINT NOT NULL,
    version         TEXT NOT NULL,
    is_leaving      BOOLEAN NOT NULL,
    started_at      BIGINT NOT NULL,  -- Unix nanoseconds
    lease_ends_at   TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
