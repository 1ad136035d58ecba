-- Tables live in a schema of their own, so that a database can hold other things too. Nothing refers to anything by
-- a foreign key: the writer deletes an entity whole.

-- One row. Epochs are taken from it and never used twice, also when cells are merged.
CREATE TABLE perennial.cluster (
    only_row    SMALLINT PRIMARY KEY CHECK (only_row = 1),
    database_id UUID NOT NULL,
    last_epoch  BIGINT NOT NULL
);

-- Who may write a range of slots, and how far it got. Every batch updates its row: half of each page is left free, so
-- that new versions stay on it, and no changing column is indexed.
CREATE TABLE perennial.cells (
    first_slot SMALLINT PRIMARY KEY,
    last_slot  SMALLINT NOT NULL,
    owner      TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    sequence   BIGINT NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE perennial.runs (
    run_key      BIGINT PRIMARY KEY,
    namespace    BIGINT NOT NULL,
    workflow_id  TEXT COLLATE "C" NOT NULL,
    run_id       UUID NOT NULL UNIQUE,
    slot         SMALLINT NOT NULL,
    first_branch BIGINT NOT NULL,  -- where its first event is: itself, or its first ancestor
    head         BYTEA NOT NULL    -- not indexed, so that a change of it stays on its page
) WITH (fillfactor = 70);

-- The latest run of each workflow id.
CREATE TABLE perennial.current_runs (
    namespace   BIGINT NOT NULL,
    workflow_id TEXT COLLATE "C" NOT NULL,
    run_key     BIGINT NOT NULL,
    PRIMARY KEY (namespace, workflow_id)
);

-- Entities of every kind but runs.
CREATE TABLE perennial.entities (
    key       BIGINT PRIMARY KEY,
    namespace BIGINT NOT NULL,
    kind      SMALLINT NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    slot      SMALLINT NOT NULL,
    head      BYTEA NOT NULL
) WITH (fillfactor = 70);

-- The latest of an id has the greatest key.
CREATE INDEX entities_by_id ON perennial.entities (namespace, kind, id, key);

-- When entities wake up. Slots are indexed in buckets of 64: a cell merges those of its own, in the order of time.
CREATE TABLE perennial.wakes (
    key     BIGINT PRIMARY KEY,
    kind    SMALLINT NOT NULL,
    bucket  SMALLINT NOT NULL,
    slot    SMALLINT NOT NULL,
    wake_at BIGINT NOT NULL  -- Unix nanoseconds
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

CREATE INDEX wakes_by_time ON perennial.wakes (bucket, wake_at, key);

CREATE TABLE perennial.parts (
    key   BIGINT NOT NULL,
    kind  SMALLINT NOT NULL,
    id    BYTEA NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (key, kind, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

-- Fragments as they were committed. A branch is named by the run whose own events it holds.
CREATE TABLE perennial.history (
    branch         BIGINT NOT NULL,
    first_event_id BIGINT NOT NULL,
    last_event_id  BIGINT NOT NULL,
    bytes          BYTEA NOT NULL,
    PRIMARY KEY (branch, first_event_id)
);

-- Runs that go on from another run's branch: it stays while one of them is there.
CREATE TABLE perennial.branch_references (
    run_key BIGINT NOT NULL,
    branch  BIGINT NOT NULL,
    PRIMARY KEY (run_key, branch)
);

CREATE INDEX branch_references_by_branch ON perennial.branch_references (branch);

CREATE TABLE perennial.logs (
    key      BIGINT NOT NULL,
    log      SMALLINT NOT NULL,
    position BIGINT NOT NULL,
    value    BYTEA NOT NULL,
    PRIMARY KEY (key, log, position)
);

-- Rows of these two tables live for moments: they are vacuumed by count.
CREATE TABLE perennial.tasks (
    key    BIGINT PRIMARY KEY,
    bucket SMALLINT NOT NULL,
    slot   SMALLINT NOT NULL,
    value  BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE INDEX tasks_by_bucket ON perennial.tasks (bucket, key);

CREATE TABLE perennial.messages (
    key    BIGINT PRIMARY KEY,
    bucket SMALLINT NOT NULL,
    slot   SMALLINT NOT NULL,
    value  BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE INDEX messages_by_bucket ON perennial.messages (bucket, key);

CREATE TABLE perennial.records (
    kind  SMALLINT NOT NULL,
    key   TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (kind, key)
);
