-- Every run and schedule that can be listed. Times are microseconds since the Unix epoch. The columns that filters
-- use are in ../column.rs; a test compares the two.
CREATE TABLE perennial.visibility (
    run_key BIGINT PRIMARY KEY,
    namespace BIGINT NOT NULL,
    workflow_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    workflow_type TEXT COLLATE "C" NOT NULL,
    task_queue TEXT COLLATE "C" NOT NULL,
    status INTEGER NOT NULL,
    start_time BIGINT NOT NULL,
    execution_time BIGINT NOT NULL,
    -- These five are set when the run closes.
    close_time BIGINT,
    execution_duration BIGINT,
    history_length BIGINT,
    history_size_bytes BIGINT,
    state_transition_count BIGINT,
    parent_workflow_id TEXT COLLATE "C",
    parent_run_id TEXT COLLATE "C",
    root_workflow_id TEXT COLLATE "C" NOT NULL,
    root_run_id TEXT COLLATE "C" NOT NULL,
    memo BYTEA NOT NULL,
    search_attributes BYTEA NOT NULL,
    -- Search attributes by column, only to be asked about: lists show search_attributes. Texts are
    -- their words (../text_tokens.rs).
    TemporalChangeVersion TEXT[] COLLATE "C",
    BinaryChecksums TEXT[] COLLATE "C",
    BuildIds TEXT[] COLLATE "C",
    BatcherNamespace TEXT COLLATE "C",
    BatcherUser TEXT COLLATE "C",
    TemporalScheduledStartTime BIGINT,
    TemporalScheduledById TEXT COLLATE "C",
    TemporalSchedulePaused BIGINT,
    TemporalNamespaceDivision TEXT COLLATE "C",
    TemporalPauseInfo TEXT[] COLLATE "C",
    TemporalReportedProblems TEXT[] COLLATE "C",
    TemporalWorkerDeployment TEXT COLLATE "C",
    TemporalWorkerDeploymentVersion TEXT COLLATE "C",
    TemporalWorkflowVersioningBehavior TEXT COLLATE "C",
    TemporalUsedWorkerDeploymentVersions TEXT[] COLLATE "C",
    TemporalExternalPayloadCount BIGINT,
    TemporalExternalPayloadSizeBytes BIGINT,
    PerennialLabels TEXT[] COLLATE "C",
    Keyword01 TEXT COLLATE "C",
    Keyword02 TEXT COLLATE "C",
    Keyword03 TEXT COLLATE "C",
    Keyword04 TEXT COLLATE "C",
    Keyword05 TEXT COLLATE "C",
    Keyword06 TEXT COLLATE "C",
    Keyword07 TEXT COLLATE "C",
    Keyword08 TEXT COLLATE "C",
    Keyword09 TEXT COLLATE "C",
    Keyword10 TEXT COLLATE "C",
    Keyword11 TEXT COLLATE "C",
    Keyword12 TEXT COLLATE "C",
    Keyword13 TEXT COLLATE "C",
    Keyword14 TEXT COLLATE "C",
    Keyword15 TEXT COLLATE "C",
    KeywordList01 TEXT[] COLLATE "C",
    KeywordList02 TEXT[] COLLATE "C",
    KeywordList03 TEXT[] COLLATE "C",
    KeywordList04 TEXT[] COLLATE "C",
    KeywordList05 TEXT[] COLLATE "C",
    Text01 TEXT COLLATE "C",
    Text02 TEXT COLLATE "C",
    Text03 TEXT COLLATE "C",
    Int01 BIGINT,
    Int02 BIGINT,
    Int03 BIGINT,
    Int04 BIGINT,
    Int05 BIGINT,
    Double01 DOUBLE PRECISION,
    Double02 DOUBLE PRECISION,
    Double03 DOUBLE PRECISION,
    Double04 DOUBLE PRECISION,
    Double05 DOUBLE PRECISION,
    Bool01 BIGINT,
    Bool02 BIGINT,
    Bool03 BIGINT,
    Bool04 BIGINT,
    Bool05 BIGINT,
    Datetime01 BIGINT,
    Datetime02 BIGINT,
    Datetime03 BIGINT,
    Datetime04 BIGINT,
    Datetime05 BIGINT
) WITH (fillfactor = 85);

-- The order of lists (../order.rs). Open runs have close_time NULL and come first.
CREATE INDEX visibility_listed ON perennial.visibility
    (namespace, (coalesce(close_time, 9223372036854775807)) DESC, start_time DESC, run_id);
CREATE INDEX visibility_workflow_id ON perennial.visibility (namespace, workflow_id);
CREATE INDEX visibility_run_id ON perennial.visibility (namespace, run_id);
CREATE INDEX visibility_status ON perennial.visibility (namespace, status);

-- Rows without a value cost these indexes nothing. They are there from the beginning, so that registering an attribute
-- changes no table.
CREATE INDEX visibility_parent ON perennial.visibility (namespace, parent_workflow_id)
    WHERE parent_workflow_id IS NOT NULL;
CREATE INDEX visibility_TemporalScheduledById ON perennial.visibility (namespace, TemporalScheduledById)
    WHERE TemporalScheduledById IS NOT NULL;
CREATE INDEX visibility_PerennialLabels ON perennial.visibility USING gin (PerennialLabels)
    WHERE PerennialLabels IS NOT NULL;
CREATE INDEX visibility_Keyword01 ON perennial.visibility (namespace, Keyword01) WHERE Keyword01 IS NOT NULL;
CREATE INDEX visibility_Keyword02 ON perennial.visibility (namespace, Keyword02) WHERE Keyword02 IS NOT NULL;
CREATE INDEX visibility_Keyword03 ON perennial.visibility (namespace, Keyword03) WHERE Keyword03 IS NOT NULL;
CREATE INDEX visibility_Keyword04 ON perennial.visibility (namespace, Keyword04) WHERE Keyword04 IS NOT NULL;
CREATE INDEX visibility_Keyword05 ON perennial.visibility (namespace, Keyword05) WHERE Keyword05 IS NOT NULL;
CREATE INDEX visibility_Keyword06 ON perennial.visibility (namespace, Keyword06) WHERE Keyword06 IS NOT NULL;
CREATE INDEX visibility_Keyword07 ON perennial.visibility (namespace, Keyword07) WHERE Keyword07 IS NOT NULL;
CREATE INDEX visibility_Keyword08 ON perennial.visibility (namespace, Keyword08) WHERE Keyword08 IS NOT NULL;
CREATE INDEX visibility_Keyword09 ON perennial.visibility (namespace, Keyword09) WHERE Keyword09 IS NOT NULL;
CREATE INDEX visibility_Keyword10 ON perennial.visibility (namespace, Keyword10) WHERE Keyword10 IS NOT NULL;
CREATE INDEX visibility_Keyword11 ON perennial.visibility (namespace, Keyword11) WHERE Keyword11 IS NOT NULL;
CREATE INDEX visibility_Keyword12 ON perennial.visibility (namespace, Keyword12) WHERE Keyword12 IS NOT NULL;
CREATE INDEX visibility_Keyword13 ON perennial.visibility (namespace, Keyword13) WHERE Keyword13 IS NOT NULL;
CREATE INDEX visibility_Keyword14 ON perennial.visibility (namespace, Keyword14) WHERE Keyword14 IS NOT NULL;
CREATE INDEX visibility_Keyword15 ON perennial.visibility (namespace, Keyword15) WHERE Keyword15 IS NOT NULL;
CREATE INDEX visibility_Int01 ON perennial.visibility (namespace, Int01) WHERE Int01 IS NOT NULL;
CREATE INDEX visibility_Int02 ON perennial.visibility (namespace, Int02) WHERE Int02 IS NOT NULL;
CREATE INDEX visibility_Int03 ON perennial.visibility (namespace, Int03) WHERE Int03 IS NOT NULL;
CREATE INDEX visibility_Int04 ON perennial.visibility (namespace, Int04) WHERE Int04 IS NOT NULL;
CREATE INDEX visibility_Int05 ON perennial.visibility (namespace, Int05) WHERE Int05 IS NOT NULL;
CREATE INDEX visibility_Double01 ON perennial.visibility (namespace, Double01) WHERE Double01 IS NOT NULL;
CREATE INDEX visibility_Double02 ON perennial.visibility (namespace, Double02) WHERE Double02 IS NOT NULL;
CREATE INDEX visibility_Double03 ON perennial.visibility (namespace, Double03) WHERE Double03 IS NOT NULL;
CREATE INDEX visibility_Double04 ON perennial.visibility (namespace, Double04) WHERE Double04 IS NOT NULL;
CREATE INDEX visibility_Double05 ON perennial.visibility (namespace, Double05) WHERE Double05 IS NOT NULL;
CREATE INDEX visibility_Datetime01 ON perennial.visibility (namespace, Datetime01) WHERE Datetime01 IS NOT NULL;
CREATE INDEX visibility_Datetime02 ON perennial.visibility (namespace, Datetime02) WHERE Datetime02 IS NOT NULL;
CREATE INDEX visibility_Datetime03 ON perennial.visibility (namespace, Datetime03) WHERE Datetime03 IS NOT NULL;
CREATE INDEX visibility_Datetime04 ON perennial.visibility (namespace, Datetime04) WHERE Datetime04 IS NOT NULL;
CREATE INDEX visibility_Datetime05 ON perennial.visibility (namespace, Datetime05) WHERE Datetime05 IS NOT NULL;
CREATE INDEX visibility_KeywordList01 ON perennial.visibility USING gin (KeywordList01) WHERE KeywordList01 IS NOT NULL;
CREATE INDEX visibility_KeywordList02 ON perennial.visibility USING gin (KeywordList02) WHERE KeywordList02 IS NOT NULL;
CREATE INDEX visibility_KeywordList03 ON perennial.visibility USING gin (KeywordList03) WHERE KeywordList03 IS NOT NULL;
CREATE INDEX visibility_KeywordList04 ON perennial.visibility USING gin (KeywordList04) WHERE KeywordList04 IS NOT NULL;
CREATE INDEX visibility_KeywordList05 ON perennial.visibility USING gin (KeywordList05) WHERE KeywordList05 IS NOT NULL;
