-- One row about the file `-redo`: a file that is missing, cut, or of another database is noticed.
CREATE TABLE redo (
    only_row    INTEGER PRIMARY KEY CHECK (only_row = 1),
    database_id BLOB NOT NULL,     -- sixteen random bytes: the file names its database by them
    in_use      INTEGER NOT NULL,  -- whether records may be there that aren't in the tables
    settled     INTEGER NOT NULL   -- number of the last record that is in the tables, or never will be
) STRICT;

INSERT INTO redo (only_row, database_id, in_use, settled) VALUES (1, randomblob(16), 0, 0);
