-- Every run that can be listed. Times are microseconds since the Unix epoch. What is asked of it is
-- in ../column.rs; a test compares the two.
CREATE TABLE visibility (
    run_key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    workflow_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    workflow_type TEXT NOT NULL,
    task_queue TEXT NOT NULL,
    status INTEGER NOT NULL,
    start_time INTEGER NOT NULL,
    execution_time INTEGER NOT NULL,
    -- These five are set when the run closes.
    close_time INTEGER,
    execution_duration INTEGER,
    history_length INTEGER,
    history_size_bytes INTEGER,
    state_transition_count INTEGER,
    parent_workflow_id TEXT,
    parent_run_id TEXT,
    root_workflow_id TEXT NOT NULL,
    root_run_id TEXT NOT NULL,
    memo BLOB NOT NULL,
    search_attributes BLOB NOT NULL,
    -- Search attributes by column, only to be asked about: lists show search_attributes. Keyword lists
    -- are JSON arrays, texts are their words (../text_tokens.rs).
    TemporalChangeVersion TEXT,
    BinaryChecksums TEXT,
    BuildIds TEXT,
    BatcherNamespace TEXT,
    BatcherUser TEXT,
    TemporalScheduledStartTime INTEGER,
    TemporalScheduledById TEXT,
    TemporalSchedulePaused INTEGER,
    TemporalNamespaceDivision TEXT,
    TemporalPauseInfo TEXT,
    TemporalReportedProblems TEXT,
    TemporalWorkerDeployment TEXT,
    TemporalWorkerDeploymentVersion TEXT,
    TemporalWorkflowVersioningBehavior TEXT,
    TemporalUsedWorkerDeploymentVersions TEXT,
    TemporalExternalPayloadCount INTEGER,
    TemporalExternalPayloadSizeBytes INTEGER,
    Keyword01 TEXT,
    Keyword02 TEXT,
    Keyword03 TEXT,
    Keyword04 TEXT,
    Keyword05 TEXT,
    Keyword06 TEXT,
    Keyword07 TEXT,
    Keyword08 TEXT,
    Keyword09 TEXT,
    Keyword10 TEXT,
    Keyword11 TEXT,
    Keyword12 TEXT,
    Keyword13 TEXT,
    Keyword14 TEXT,
    Keyword15 TEXT,
    KeywordList01 TEXT,
    KeywordList02 TEXT,
    KeywordList03 TEXT,
    KeywordList04 TEXT,
    KeywordList05 TEXT,
    Text01 TEXT,
    Text02 TEXT,
    Text03 TEXT,
    Int01 INTEGER,
    Int02 INTEGER,
    Int03 INTEGER,
    Int04 INTEGER,
    Int05 INTEGER,
    Double01 REAL,
    Double02 REAL,
    Double03 REAL,
    Double04 REAL,
    Double05 REAL,
    Bool01 INTEGER,
    Bool02 INTEGER,
    Bool03 INTEGER,
    Bool04 INTEGER,
    Bool05 INTEGER,
    Datetime01 INTEGER,
    Datetime02 INTEGER,
    Datetime03 INTEGER,
    Datetime04 INTEGER,
    Datetime05 INTEGER
);

-- The order of lists (../order.rs). Open runs have close_time NULL and come first.
CREATE INDEX visibility_listed ON visibility
    (namespace, coalesce(close_time, 9223372036854775807) DESC, start_time DESC, run_id);
CREATE INDEX visibility_workflow_id ON visibility (namespace, workflow_id);
CREATE INDEX visibility_run_id ON visibility (namespace, run_id);
CREATE INDEX visibility_status ON visibility (namespace, status);

-- Runs without a value cost these indexes nothing.
CREATE INDEX visibility_parent ON visibility (namespace, parent_workflow_id)
    WHERE parent_workflow_id IS NOT NULL;
CREATE INDEX visibility_Keyword01 ON visibility (namespace, Keyword01) WHERE Keyword01 IS NOT NULL;
CREATE INDEX visibility_Keyword02 ON visibility (namespace, Keyword02) WHERE Keyword02 IS NOT NULL;
CREATE INDEX visibility_Keyword03 ON visibility (namespace, Keyword03) WHERE Keyword03 IS NOT NULL;
CREATE INDEX visibility_Keyword04 ON visibility (namespace, Keyword04) WHERE Keyword04 IS NOT NULL;
CREATE INDEX visibility_Keyword05 ON visibility (namespace, Keyword05) WHERE Keyword05 IS NOT NULL;
CREATE INDEX visibility_Keyword06 ON visibility (namespace, Keyword06) WHERE Keyword06 IS NOT NULL;
CREATE INDEX visibility_Keyword07 ON visibility (namespace, Keyword07) WHERE Keyword07 IS NOT NULL;
CREATE INDEX visibility_Keyword08 ON visibility (namespace, Keyword08) WHERE Keyword08 IS NOT NULL;
CREATE INDEX visibility_Keyword09 ON visibility (namespace, Keyword09) WHERE Keyword09 IS NOT NULL;
CREATE INDEX visibility_Keyword10 ON visibility (namespace, Keyword10) WHERE Keyword10 IS NOT NULL;
CREATE INDEX visibility_Keyword11 ON visibility (namespace, Keyword11) WHERE Keyword11 IS NOT NULL;
CREATE INDEX visibility_Keyword12 ON visibility (namespace, Keyword12) WHERE Keyword12 IS NOT NULL;
CREATE INDEX visibility_Keyword13 ON visibility (namespace, Keyword13) WHERE Keyword13 IS NOT NULL;
CREATE INDEX visibility_Keyword14 ON visibility (namespace, Keyword14) WHERE Keyword14 IS NOT NULL;
CREATE INDEX visibility_Keyword15 ON visibility (namespace, Keyword15) WHERE Keyword15 IS NOT NULL;
CREATE INDEX visibility_Int01 ON visibility (namespace, Int01) WHERE Int01 IS NOT NULL;
CREATE INDEX visibility_Int02 ON visibility (namespace, Int02) WHERE Int02 IS NOT NULL;
CREATE INDEX visibility_Int03 ON visibility (namespace, Int03) WHERE Int03 IS NOT NULL;
CREATE INDEX visibility_Int04 ON visibility (namespace, Int04) WHERE Int04 IS NOT NULL;
CREATE INDEX visibility_Int05 ON visibility (namespace, Int05) WHERE Int05 IS NOT NULL;
CREATE INDEX visibility_Double01 ON visibility (namespace, Double01) WHERE Double01 IS NOT NULL;
CREATE INDEX visibility_Double02 ON visibility (namespace, Double02) WHERE Double02 IS NOT NULL;
CREATE INDEX visibility_Double03 ON visibility (namespace, Double03) WHERE Double03 IS NOT NULL;
CREATE INDEX visibility_Double04 ON visibility (namespace, Double04) WHERE Double04 IS NOT NULL;
CREATE INDEX visibility_Double05 ON visibility (namespace, Double05) WHERE Double05 IS NOT NULL;
CREATE INDEX visibility_Datetime01 ON visibility (namespace, Datetime01) WHERE Datetime01 IS NOT NULL;
CREATE INDEX visibility_Datetime02 ON visibility (namespace, Datetime02) WHERE Datetime02 IS NOT NULL;
CREATE INDEX visibility_Datetime03 ON visibility (namespace, Datetime03) WHERE Datetime03 IS NOT NULL;
CREATE INDEX visibility_Datetime04 ON visibility (namespace, Datetime04) WHERE Datetime04 IS NOT NULL;
CREATE INDEX visibility_Datetime05 ON visibility (namespace, Datetime05) WHERE Datetime05 IS NOT NULL;
CREATE INDEX visibility_TemporalScheduledById ON visibility (namespace, TemporalScheduledById) WHERE TemporalScheduledById IS NOT NULL;
