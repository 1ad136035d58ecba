//! The results of lists and counts.

use super::order::Position;
use super::row::Execution;

/// Part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In the order of lists.
    pub executions: Vec<Execution>,
    /// Where the next page starts, if there is one.
    pub next: Option<Position>,
}

impl Page {
    /// The first `limit` of the executions that come next in a list. If there is one more, there is another page.
    pub(crate) fn of(mut executions: Vec<Execution>, limit: usize) -> Self {
        let more = executions.len() > limit;
        executions.truncate(limit);
        let next = executions.last().filter(|_| more).map(Position::of);
        Self { executions, next }
    }
}

/// How many runs a query found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub total: i64,
    /// The same, split, if the query asked for it. Groups without runs are left out.
    pub groups: Vec<Group>,
}

/// A group of a count with GROUP BY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The value that the runs share.
    pub key: GroupKey,
    /// How many there are.
    pub count: i64,
}

/// The value that the runs of a group share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKey {
    /// `temporal.api.enums.v1.WorkflowExecutionStatus`.
    Status(i32),
    /// None for the runs in no division.
    Division(Option<String>),
}
