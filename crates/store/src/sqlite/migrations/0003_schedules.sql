-- Keys of schedules and of runs never have the same number: both have their parts in `parts`, under `run_key`,
-- and their rows in `visibility`.

-- Each incarnation of a schedule id: the latest has the greatest key.
CREATE TABLE schedules (
    schedule_key INTEGER PRIMARY KEY,
    namespace    INTEGER NOT NULL,
    schedule_id  TEXT NOT NULL,
    slot         INTEGER NOT NULL,
    wake_at      INTEGER,           -- Unix nanoseconds, or NULL
    head         BLOB NOT NULL
) STRICT;

CREATE INDEX schedules_by_schedule_id ON schedules (namespace, schedule_id, schedule_key);

CREATE INDEX schedules_by_wake_at ON schedules (wake_at) WHERE wake_at IS NOT NULL;

-- What was done to a schedule and what became of its times; read by range, and never as a whole.
CREATE TABLE schedule_log (
    schedule_key INTEGER NOT NULL,
    log          INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    value        BLOB NOT NULL,
    PRIMARY KEY (schedule_key, log, position)
) STRICT, WITHOUT ROWID;
