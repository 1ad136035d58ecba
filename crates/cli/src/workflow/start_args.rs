//! Flags of commands that start a workflow.

use std::time::Duration;

use clap::ValueEnum;
use perennial_calendar::parse_duration;
use perennial_proto::temporal::enums::v1::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy};
use perennial_proto::temporal::workflowservice::v1::StartWorkflowExecutionRequest;

use crate::client::Client;
use crate::input::{NewWorkflowArgs, length};

/// The workflow to start, its id, and the policies for an id that is in use.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "start-args")]
pub(super) struct StartArgs {
    /// Workflow id [default: a new UUID]
    #[arg(long, short, alias = "wid", value_name = "ID")]
    workflow_id: Option<String>,

    #[command(flatten)]
    workflow: NewWorkflowArgs,

    /// Fail if a workflow with this id is running; by default, show that one
    #[arg(long)]
    fail_existing: bool,

    /// Policy if a workflow with this id is running
    #[arg(long, value_name = "POLICY", value_enum, ignore_case = true)]
    id_conflict_policy: Option<IdConflict>,

    /// Policy if a workflow with this id has ended
    #[arg(long, value_name = "POLICY", value_enum, ignore_case = true)]
    id_reuse_policy: Option<IdReuse>,

    /// Delay before the first workflow task; not with --cron. An update or signal-with-start ends the delay, a
    /// signal doesn't
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    start_delay: Option<Duration>,

    /// Cron string: start a new run at each time; `perennial schedule` has more features
    #[arg(long, value_name = "CRON", hide = true)]
    cron: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum IdConflict {
    #[value(alias = "fail")]
    Fail,
    #[value(alias = "use-existing")]
    UseExisting,
    #[value(alias = "terminate-existing")]
    TerminateExisting,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum IdReuse {
    #[value(alias = "allow-duplicate")]
    AllowDuplicate,
    #[value(alias = "allow-duplicate-failed-only")]
    AllowDuplicateFailedOnly,
    #[value(alias = "reject-duplicate")]
    RejectDuplicate,
    #[value(alias = "terminate-if-running")]
    TerminateIfRunning,
}

impl StartArgs {
    /// Whether to fail if the workflow is running.
    pub(super) fn fail_existing(&self) -> bool {
        self.fail_existing
    }

    /// Whether a workflow id is given.
    pub(super) fn has_id(&self) -> bool {
        self.workflow_id.as_ref().is_some_and(|id| !id.is_empty())
    }

    pub(super) fn has_conflict_policy(&self) -> bool {
        self.id_conflict_policy.is_some()
    }

    #[allow(deprecated, reason = "users still type the policy that Temporal deprecated")]
    pub(super) fn request(&self, client: &Client) -> anyhow::Result<StartWorkflowExecutionRequest> {
        let workflow = self.workflow.read()?;
        let conflict = self.id_conflict_policy.map(|policy| match policy {
            IdConflict::Fail => WorkflowIdConflictPolicy::Fail,
            IdConflict::UseExisting => WorkflowIdConflictPolicy::UseExisting,
            IdConflict::TerminateExisting => WorkflowIdConflictPolicy::TerminateExisting,
        });
        let reuse = self.id_reuse_policy.map(|policy| match policy {
            IdReuse::AllowDuplicate => WorkflowIdReusePolicy::AllowDuplicate,
            IdReuse::AllowDuplicateFailedOnly => WorkflowIdReusePolicy::AllowDuplicateFailedOnly,
            IdReuse::RejectDuplicate => WorkflowIdReusePolicy::RejectDuplicate,
            IdReuse::TerminateIfRunning => WorkflowIdReusePolicy::TerminateIfRunning,
        });
        let id = self.workflow_id.clone().filter(|id| !id.is_empty());
        Ok(StartWorkflowExecutionRequest {
            namespace: client.namespace.clone(),
            workflow_id: id.unwrap_or_else(Client::new_request_id),
            workflow_type: workflow.workflow_type,
            task_queue: workflow.task_queue,
            input: workflow.input,
            workflow_execution_timeout: workflow.workflow_execution_timeout,
            workflow_run_timeout: workflow.workflow_run_timeout,
            workflow_task_timeout: workflow.workflow_task_timeout,
            identity: client.identity.clone(),
            request_id: Client::new_request_id(),
            workflow_id_reuse_policy: reuse.unwrap_or_default().into(),
            workflow_id_conflict_policy: conflict.unwrap_or_default().into(),
            cron_schedule: self.cron.clone().unwrap_or_default(),
            memo: workflow.memo,
            search_attributes: workflow.search_attributes,
            header: workflow.header,
            workflow_start_delay: self.start_delay.map(length).transpose()?,
            user_metadata: workflow.user_metadata,
            priority: workflow.priority,
            ..StartWorkflowExecutionRequest::default()
        })
    }
}
