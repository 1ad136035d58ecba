//! `temporal.api.workflowservice.v1.WorkflowService`, a file for each group of RPCs.

mod activity;
mod activity_execution;
mod activity_options;
mod batch;
mod control;
mod describe;
mod history;
mod list_filter;
mod multi_operation;
mod namespace;
mod pending;
mod poll;
mod query;
mod reset;
mod respond;
pub(crate) mod schedule;
mod signal;
mod start;
mod system;
mod task;
mod task_queue;
mod update;
pub(crate) mod visibility;

pub(crate) use system::CLUSTER_NAME;
pub use system::SERVER_VERSION;
