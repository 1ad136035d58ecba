//! The flags that say what a schedule starts.

use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;

use crate::input::NewWorkflowArgs;

/// The workflow that is started.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "what-args")]
pub(super) struct WhatArgs {
    /// Workflow id, to which the time is added [default: the schedule's id]
    #[arg(long, short = 'w', alias = "wid", value_name = "ID", help_heading = "What")]
    workflow_id: Option<String>,

    #[command(flatten)]
    workflow: NewWorkflowArgs,
}

impl WhatArgs {
    /// Whether any of them was given.
    pub(super) fn is_given(&self) -> bool {
        self.workflow_id.is_some() || self.workflow.is_given()
    }

    /// A new action.
    pub(super) fn read(&self) -> anyhow::Result<NewWorkflowExecutionInfo> {
        Ok(self.with_id(self.workflow.read()?))
    }

    /// What they make of an action: what is given takes the place of what was there.
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
