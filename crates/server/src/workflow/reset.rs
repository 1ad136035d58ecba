//! Resets a run to an earlier point of its history.

use perennial_engine::run::{Command, Signal, UpdateOptions};
use perennial_proto::store::RunName;
use perennial_proto::temporal::enums::v1::{ResetReapplyExcludeType, ResetReapplyType};
use perennial_proto::temporal::history::v1::WorkflowExecutionSignaledEventAttributes;
use perennial_proto::temporal::workflow::v1::PostResetOperation;
use perennial_proto::temporal::workflow::v1::post_reset_operation::Variant;
use perennial_proto::temporal::workflowservice::v1::{
    ResetWorkflowExecutionRequest, ResetWorkflowExecutionResponse,
};
use perennial_runtime::ResetOptions;

use crate::call::Call;
use crate::errors::{RpcResult, refused};
use crate::validate::{self, invalid};

impl Call<'_> {
    pub(crate) async fn reset_workflow_execution(
        &self,
        request: ResetWorkflowExecutionRequest,
    ) -> RpcResult<ResetWorkflowExecutionResponse> {
        let target = self.run_name(&request.namespace, request.workflow_execution.clone())?;
        if request.request_id.is_empty() {
            return invalid("RequestId is not set on request.");
        }
        validate::no_longer_than_an_id(&request.request_id, "RequestId")?;
        if request.workflow_task_finish_event_id <= 1 {
            return invalid("Workflow task finish ID must be > 1 && <= workflow last event ID.");
        }
        let excluded = Excluded::of(&request);
        let identity = request.identity.clone();
        let reset = ResetOptions {
            request_id: request.request_id,
            reason: request.reason,
            event_id: request.workflow_task_finish_event_id,
            exclude_signals: excluded.signals,
            exclude_updates: excluded.updates,
        };
        let run_id = self.runtime().reset(target.clone(), reset).await.map_err(refused)?;
        for operation in request.post_reset_operations {
            let target = RunName { run_id: run_id.clone(), ..target.clone() };
            if let Some(command) = after_reset(operation, &identity) {
                self.send(target, command).await?;
            }
        }
        Ok(ResetWorkflowExecutionResponse { run_id })
    }
}

/// The events after the reset point that aren't reapplied to the new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Excluded {
    pub(super) signals: bool,
    pub(super) updates: bool,
}

impl Excluded {
    #[allow(deprecated, reason = "older clients say it only this way")]
    fn of(request: &ResetWorkflowExecutionRequest) -> Self {
        Self::from(request.reset_reapply_type(), request.reset_reapply_exclude_types())
    }

    #[allow(deprecated, reason = "older clients still send it")]
    pub(super) fn from(
        reapplied: ResetReapplyType,
        excluded: impl Iterator<Item = ResetReapplyExcludeType>,
    ) -> Self {
        let mut this = match reapplied {
            ResetReapplyType::None => Self { signals: true, updates: true },
            ResetReapplyType::Signal => Self { updates: true, ..Self::default() },
            ResetReapplyType::Unspecified | ResetReapplyType::AllEligible => Self::default(),
        };
        for kind in excluded {
            match kind {
                ResetReapplyExcludeType::Signal => this.signals = true,
                ResetReapplyExcludeType::Update => this.updates = true,
                // Cancel requests are never reapplied, and Nexus isn't supported yet.
                ResetReapplyExcludeType::CancelRequest
                | ResetReapplyExcludeType::Unspecified
                | ResetReapplyExcludeType::Nexus => {}
            }
        }
        this
    }
}

fn after_reset(operation: PostResetOperation, identity: &str) -> Option<Command> {
    Some(match operation.variant? {
        Variant::SignalWorkflow(signal) => {
            let attributes = WorkflowExecutionSignaledEventAttributes {
                signal_name: signal.signal_name,
                input: signal.input,
                header: signal.header,
                identity: identity.to_owned(),
                ..WorkflowExecutionSignaledEventAttributes::default()
            };
            Command::Signal(Box::new(Signal { attributes, links: signal.links }))
        }
        Variant::UpdateWorkflowOptions(update) => {
            let options = update.workflow_execution_options.unwrap_or_default();
            let identity = identity.to_owned();
            Command::UpdateOptions(Box::new(UpdateOptions { priority: options.priority, identity }))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(deprecated, reason = "older clients still send it")]
    fn both_ways_to_exclude_events_add_up() {
        let excluded = Excluded::from(
            ResetReapplyType::Signal,
            [ResetReapplyExcludeType::CancelRequest].into_iter(),
        );
        assert_eq!(excluded, Excluded { signals: false, updates: true });
        let nothing = Excluded::from(ResetReapplyType::Unspecified, [].into_iter());
        assert_eq!(nothing, Excluded::default());
    }
}
