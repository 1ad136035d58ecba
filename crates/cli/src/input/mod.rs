//! Converts arguments to protobuf messages: payloads, memos, search attributes, times.

mod execution;
mod new_workflow;
mod overlap_policy;
mod pairs;
mod payloads;
mod times;

pub(crate) use self::execution::ExecutionArgs;
pub(crate) use self::new_workflow::NewWorkflowArgs;
pub(crate) use self::overlap_policy::{overlap_policy, overlap_policy_name};
pub(crate) use self::pairs::{headers, json_pair, json_value, memo, search_attributes, text_pair};
pub(crate) use self::payloads::{InputArgs, json_payload};
pub(crate) use self::times::{EndText, InstantText};

/// Converts to a protobuf duration.
pub(crate) fn length(length: std::time::Duration) -> anyhow::Result<perennial_proto::Duration> {
    let read = perennial_proto::Duration::try_from(length);
    read.map_err(|_| crate::failure::Usage::new("the duration is too long").into())
}
