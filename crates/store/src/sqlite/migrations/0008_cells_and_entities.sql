-- A cell is a range of slots: who may write them, and how far it got. There was one cell before, number 0, with
-- every slot. The first slot names a cell.
CREATE TABLE cells (
    first_slot INTEGER PRIMARY KEY,
    last_slot  INTEGER NOT NULL,
    owner      TEXT NOT NULL,     -- the node that took the last lease
    epoch      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL
) STRICT;

INSERT INTO cells (first_slot, last_slot, owner, epoch, sequence)
VALUES (
    0,
    16383,
    '',
    COALESCE((SELECT MAX(epoch) FROM leases), 0),
    COALESCE((SELECT sequence FROM leases WHERE cell = 0), 0)
);

DROP TABLE leases;

-- Entities of every kind but runs, which have a run id and a history besides and so a table of their own. Schedules
-- are of kind 2.
ALTER TABLE schedules RENAME TO entities;
ALTER TABLE entities RENAME COLUMN schedule_key TO key;
ALTER TABLE entities RENAME COLUMN schedule_id TO id;
ALTER TABLE entities ADD COLUMN kind INTEGER NOT NULL DEFAULT 2;

DROP INDEX schedules_by_schedule_id;
CREATE INDEX entities_by_id ON entities (namespace, kind, id, key);

DROP INDEX schedules_by_wake_at;
CREATE INDEX entities_by_wake_at ON entities (wake_at) WHERE wake_at IS NOT NULL;

ALTER TABLE schedule_log RENAME TO logs;
ALTER TABLE logs RENAME COLUMN schedule_key TO key;

ALTER TABLE parts RENAME COLUMN run_key TO key;
