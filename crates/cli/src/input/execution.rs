//! Arguments that name a workflow and a run.

use perennial_proto::temporal::common::v1::WorkflowExecution;

use crate::failure::Usage;

/// A workflow, as a positional argument or a flag.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "execution-args")]
pub(crate) struct ExecutionArgs {
    /// Workflow id
    #[arg(value_name = "WORKFLOW_ID", conflicts_with = "workflow_id")]
    #[arg(required_unless_present = "workflow_id")]
    id: Option<String>,

    /// Workflow id, as a flag
    #[arg(long = "workflow-id", short = 'w', alias = "wid", value_name = "ID", id = "workflow_id")]
    flag: Option<String>,

    /// Run id [default: the latest run]
    #[arg(long, short, alias = "rid", value_name = "ID")]
    run_id: Option<String>,
}

impl ExecutionArgs {
    pub(crate) fn get(&self) -> anyhow::Result<WorkflowExecution> {
        let workflow_id = self.flag.clone().or_else(|| self.id.clone());
        let workflow_id = workflow_id.filter(|id| !id.is_empty());
        Ok(WorkflowExecution {
            workflow_id: workflow_id
                .ok_or_else(|| Usage::new("missing workflow id: --workflow-id ID"))?,
            run_id: self.run_id.clone().unwrap_or_default(),
        })
    }
}
