//! Flags for a schedule's action: the workflow to start.

use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;

use crate::input::NewWorkflowArgs;

/// The workflow that the schedule starts.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "what-args")]
pub(super) struct ActionArgs {
    /// Workflow id; the time is appended to it [default: the schedule's id]
    #[arg(long, short = 'w', alias = "wid", value_name = "ID", help_heading = "Workflow")]
    workflow_id: Option<String>,

    #[command(flatten)]
    workflow: NewWorkflowArgs,
}

impl ActionArgs {
    /// Whether any flag was given.
    pub(super) fn is_given(&self) -> bool {
        self.workflow_id.is_some() || self.workflow.is_given()
    }

    /// A new action from the flags.
    pub(super) fn read(&self) -> anyhow::Result<NewWorkflowExecutionInfo> {
        Ok(self.with_id(self.workflow.read()?))
    }

    /// Applies the given flags to an action; everything else stays.
    pub(super) fn change(
        &self,
        present: NewWorkflowExecutionInfo,
    ) -> anyhow::Result<NewWorkflowExecutionInfo> {
        Ok(self.with_id(self.workflow.change(present)?))
    }

    fn with_id(&self, action: NewWorkflowExecutionInfo) -> NewWorkflowExecutionInfo {
        match self.workflow_id.clone() {
            Some(workflow_id) => NewWorkflowExecutionInfo { workflow_id, ..action },
            None => action,
        }
    }
}
