-- Rows are found by ascending integers wherever a transition writes them: new rows then lie together, and
-- a commit of a hundred runs touches few pages. Nothing refers to anything by a foreign key: the writer
-- deletes a run whole.

-- Who may write, and how far it got.
CREATE TABLE leases (
    cell     INTEGER PRIMARY KEY,
    epoch    INTEGER NOT NULL,
    sequence INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    run_key      INTEGER PRIMARY KEY,
    namespace    INTEGER NOT NULL,
    workflow_id  TEXT NOT NULL,
    run_id       BLOB NOT NULL,     -- the sixteen bytes of a UUIDv7: they ascend too
    slot         INTEGER NOT NULL,
    first_branch INTEGER NOT NULL,  -- where its first event is: itself, or its first ancestor
    wake_at      INTEGER,           -- Unix nanoseconds, or NULL
    head         BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX runs_by_run_id ON runs (run_id);

CREATE INDEX runs_by_wake_at ON runs (wake_at) WHERE wake_at IS NOT NULL;

-- The latest run of each workflow id.
CREATE TABLE current_runs (
    namespace   INTEGER NOT NULL,
    workflow_id TEXT NOT NULL,
    run_key     INTEGER NOT NULL,
    PRIMARY KEY (namespace, workflow_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE parts (
    run_key INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    id      BLOB NOT NULL,
    value   BLOB NOT NULL,
    PRIMARY KEY (run_key, kind, id)
) STRICT, WITHOUT ROWID;

-- Fragments as they were committed. A branch is named by the run whose own events it holds. Rows are in
-- the order they came, and found through an index: new ones fill the last page whoever they belong to, and
-- those of some kilobytes need no page of their own, which they would in a table ordered by branch.
CREATE TABLE history (
    branch         INTEGER NOT NULL,
    first_event_id INTEGER NOT NULL,
    last_event_id  INTEGER NOT NULL,
    bytes          BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX history_by_branch ON history (branch, first_event_id);

-- Runs that go on from another run's branch: it stays while one of them is there.
CREATE TABLE branch_references (
    run_key INTEGER NOT NULL,
    branch  INTEGER NOT NULL,
    PRIMARY KEY (run_key, branch)
) STRICT, WITHOUT ROWID;

CREATE INDEX branch_references_by_branch ON branch_references (branch);

CREATE TABLE tasks (
    key   INTEGER PRIMARY KEY,
    slot  INTEGER NOT NULL,
    value BLOB NOT NULL
) STRICT;

CREATE TABLE messages (
    key   INTEGER PRIMARY KEY,
    slot  INTEGER NOT NULL,
    value BLOB NOT NULL
) STRICT;

CREATE TABLE records (
    kind  INTEGER NOT NULL,
    key   TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
