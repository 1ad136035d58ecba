//! The columns of the visibility table that filters can use.

use std::borrow::Cow;

/// Type of an attribute: the same set as Temporal's `IndexedValueType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueType {
    /// One string, compared exactly.
    Keyword,
    /// Several strings, each compared exactly.
    KeywordList,
    /// Words, found one by one.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// True or false.
    Bool,
    /// An instant.
    Datetime,
}

impl ValueType {
    /// Every type.
    pub const ALL: [Self; 7] = [
        Self::Keyword,
        Self::KeywordList,
        Self::Text,
        Self::Int,
        Self::Double,
        Self::Bool,
        Self::Datetime,
    ];

    /// Its name in messages and in the names of preallocated columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keyword => "Keyword",
            Self::KeywordList => "KeywordList",
            Self::Text => "Text",
            Self::Int => "Int",
            Self::Double => "Double",
            Self::Bool => "Bool",
            Self::Datetime => "Datetime",
        }
    }

    /// How many columns a namespace has for custom attributes of this type.
    pub const fn custom_columns(self) -> u8 {
        match self {
            Self::Keyword => 15,
            Self::KeywordList | Self::Int | Self::Double | Self::Bool | Self::Datetime => 5,
            Self::Text => 3,
        }
    }
}

/// A column that a filter can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named as in Temporal's documentation of list filters")]
pub enum Column {
    WorkflowId,
    RunId,
    WorkflowType,
    ExecutionStatus,
    TaskQueue,
    StartTime,
    ExecutionTime,
    CloseTime,
    ExecutionDuration,
    HistoryLength,
    HistorySizeBytes,
    StateTransitionCount,
    ParentWorkflowId,
    ParentRunId,
    RootWorkflowId,
    RootRunId,
    /// A search attribute.
    Attribute(AttributeColumn),
}

impl Column {
    /// The columns that aren't search attributes.
    pub(super) const SYSTEM: [Self; 16] = [
        Self::WorkflowId,
        Self::RunId,
        Self::WorkflowType,
        Self::ExecutionStatus,
        Self::TaskQueue,
        Self::StartTime,
        Self::ExecutionTime,
        Self::CloseTime,
        Self::ExecutionDuration,
        Self::HistoryLength,
        Self::HistorySizeBytes,
        Self::StateTransitionCount,
        Self::ParentWorkflowId,
        Self::ParentRunId,
        Self::RootWorkflowId,
        Self::RootRunId,
    ];

    /// The type of its values.
    pub fn value_type(self) -> ValueType {
        self.description().2
    }

    /// Its name in queries, unless users gave it another.
    pub(super) fn name(self) -> Cow<'static, str> {
        self.description().0
    }

    /// Its name in the table.
    pub(super) fn sql_name(self) -> Cow<'static, str> {
        self.description().1
    }

    fn description(self) -> (Cow<'static, str>, Cow<'static, str>, ValueType) {
        let (name, sql_name, value_type) = match self {
            Self::WorkflowId => ("WorkflowId", "workflow_id", ValueType::Keyword),
            Self::RunId => ("RunId", "run_id", ValueType::Keyword),
            Self::WorkflowType => ("WorkflowType", "workflow_type", ValueType::Keyword),
            Self::ExecutionStatus => ("ExecutionStatus", "status", ValueType::Keyword),
            Self::TaskQueue => ("TaskQueue", "task_queue", ValueType::Keyword),
            Self::StartTime => ("StartTime", "start_time", ValueType::Datetime),
            Self::ExecutionTime => ("ExecutionTime", "execution_time", ValueType::Datetime),
            Self::CloseTime => ("CloseTime", "close_time", ValueType::Datetime),
            Self::ExecutionDuration => ("ExecutionDuration", "execution_duration", ValueType::Int),
            Self::HistoryLength => ("HistoryLength", "history_length", ValueType::Int),
            Self::HistorySizeBytes => ("HistorySizeBytes", "history_size_bytes", ValueType::Int),
            Self::StateTransitionCount => {
                ("StateTransitionCount", "state_transition_count", ValueType::Int)
            }
            Self::ParentWorkflowId => {
                ("ParentWorkflowId", "parent_workflow_id", ValueType::Keyword)
            }
            Self::ParentRunId => ("ParentRunId", "parent_run_id", ValueType::Keyword),
            Self::RootWorkflowId => ("RootWorkflowId", "root_workflow_id", ValueType::Keyword),
            Self::RootRunId => ("RootRunId", "root_run_id", ValueType::Keyword),
            Self::Attribute(column) => {
                return (column.field_name(), column.field_name(), column.value_type());
            }
        };
        (Cow::Borrowed(name), Cow::Borrowed(sql_name), value_type)
    }
}

/// A column filled from a run's search attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttributeColumn {
    /// An attribute that every namespace has.
    Predefined(Predefined),
    /// A column for an attribute that users register.
    Custom {
        /// The type of its values.
        value_type: ValueType,
        /// From 1 to [`ValueType::custom_columns`].
        number: u8,
    },
}

impl AttributeColumn {
    /// Every column, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        let custom = ValueType::ALL.into_iter().flat_map(|value_type| {
            (1..=value_type.custom_columns()).map(move |number| Self::Custom { value_type, number })
        });
        Predefined::ALL.into_iter().map(Self::Predefined).chain(custom)
    }

    /// The type of its values.
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Predefined(predefined) => predefined.value_type(),
            Self::Custom { value_type, .. } => value_type,
        }
    }

    /// The name the column has in the table, and in queries whatever users call it:
    /// `TemporalScheduledById`, `Keyword01`.
    pub(crate) fn field_name(self) -> Cow<'static, str> {
        match self {
            Self::Predefined(predefined) => Cow::Borrowed(predefined.name()),
            Self::Custom { value_type, number } => {
                Cow::Owned(format!("{}{number:02}", value_type.name()))
            }
        }
    }
}

/// An attribute that every namespace has and the server or the SDKs fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named as in Temporal's documentation of search attributes")]
pub enum Predefined {
    TemporalChangeVersion,
    BinaryChecksums,
    BuildIds,
    BatcherNamespace,
    BatcherUser,
    TemporalScheduledStartTime,
    TemporalScheduledById,
    TemporalSchedulePaused,
    /// Runs in a division are hidden unless a query names it.
    TemporalNamespaceDivision,
    TemporalPauseInfo,
    TemporalReportedProblems,
    TemporalWorkerDeployment,
    TemporalWorkerDeploymentVersion,
    TemporalWorkflowVersioningBehavior,
    TemporalUsedWorkerDeploymentVersions,
    TemporalExternalPayloadCount,
    TemporalExternalPayloadSizeBytes,
    /// The labels of a schedule, on it and on its runs, each as `key=value`.
    PerennialLabels,
}

impl Predefined {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 18] = [
        Self::TemporalChangeVersion,
        Self::BinaryChecksums,
        Self::BuildIds,
        Self::BatcherNamespace,
        Self::BatcherUser,
        Self::TemporalScheduledStartTime,
        Self::TemporalScheduledById,
        Self::TemporalSchedulePaused,
        Self::TemporalNamespaceDivision,
        Self::TemporalPauseInfo,
        Self::TemporalReportedProblems,
        Self::TemporalWorkerDeployment,
        Self::TemporalWorkerDeploymentVersion,
        Self::TemporalWorkflowVersioningBehavior,
        Self::TemporalUsedWorkerDeploymentVersions,
        Self::TemporalExternalPayloadCount,
        Self::TemporalExternalPayloadSizeBytes,
        Self::PerennialLabels,
    ];

    /// Its name, in queries and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::TemporalChangeVersion => "TemporalChangeVersion",
            Self::BinaryChecksums => "BinaryChecksums",
            Self::BuildIds => "BuildIds",
            Self::BatcherNamespace => "BatcherNamespace",
            Self::BatcherUser => "BatcherUser",
            Self::TemporalScheduledStartTime => "TemporalScheduledStartTime",
            Self::TemporalScheduledById => "TemporalScheduledById",
            Self::TemporalSchedulePaused => "TemporalSchedulePaused",
            Self::TemporalNamespaceDivision => "TemporalNamespaceDivision",
            Self::TemporalPauseInfo => "TemporalPauseInfo",
            Self::TemporalReportedProblems => "TemporalReportedProblems",
            Self::TemporalWorkerDeployment => "TemporalWorkerDeployment",
            Self::TemporalWorkerDeploymentVersion => "TemporalWorkerDeploymentVersion",
            Self::TemporalWorkflowVersioningBehavior => "TemporalWorkflowVersioningBehavior",
            Self::TemporalUsedWorkerDeploymentVersions => "TemporalUsedWorkerDeploymentVersions",
            Self::TemporalExternalPayloadCount => "TemporalExternalPayloadCount",
            Self::TemporalExternalPayloadSizeBytes => "TemporalExternalPayloadSizeBytes",
            Self::PerennialLabels => "PerennialLabels",
        }
    }

    /// The type of its values.
    pub fn value_type(self) -> ValueType {
        match self {
            Self::TemporalChangeVersion
            | Self::BinaryChecksums
            | Self::BuildIds
            | Self::TemporalPauseInfo
            | Self::TemporalReportedProblems
            | Self::TemporalUsedWorkerDeploymentVersions
            | Self::PerennialLabels => ValueType::KeywordList,
            Self::BatcherNamespace
            | Self::BatcherUser
            | Self::TemporalScheduledById
            | Self::TemporalNamespaceDivision
            | Self::TemporalWorkerDeployment
            | Self::TemporalWorkerDeploymentVersion
            | Self::TemporalWorkflowVersioningBehavior => ValueType::Keyword,
            Self::TemporalScheduledStartTime => ValueType::Datetime,
            Self::TemporalSchedulePaused => ValueType::Bool,
            Self::TemporalExternalPayloadCount | Self::TemporalExternalPayloadSizeBytes => {
                ValueType::Int
            }
        }
    }
}
