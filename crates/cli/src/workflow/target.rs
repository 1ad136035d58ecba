//! Arguments that name one workflow, or all that match a list filter.

use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;
use perennial_proto::temporal::workflowservice::v1::{
    CountWorkflowExecutionsRequest, StartBatchOperationRequest,
};
use serde::Serialize;

use super::default_reason;
use crate::client::Client;
use crate::confirm::confirm;
use crate::failure::Usage;
use crate::output::thousands;
use crate::session::Session;

/// One workflow, or a list filter.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "target-args")]
pub(super) struct TargetArgs {
    /// Workflow id
    #[arg(value_name = "WORKFLOW_ID", conflicts_with_all = ["workflow_id", "query"])]
    id: Option<String>,

    /// Workflow id, as a flag
    #[arg(long = "workflow-id", short = 'w', alias = "wid", value_name = "ID", id = "workflow_id")]
    #[arg(conflicts_with = "query")]
    flag: Option<String>,

    /// Run id [default: the latest run]
    #[arg(long, short, alias = "rid", value_name = "ID", conflicts_with = "query")]
    run_id: Option<String>,

    /// Apply to all workflows that match this list filter, as a batch job
    #[arg(long, short, value_name = "FILTER", help_heading = "Many workflows")]
    query: Option<String>,

    /// Don't ask for confirmation
    #[arg(long, short, help_heading = "Many workflows")]
    pub(super) yes: bool,

    /// Maximum workflows per second
    #[arg(long, value_name = "N", help_heading = "Many workflows", requires = "query")]
    rps: Option<f32>,
}

/// The workflows a command applies to.
#[derive(Debug)]
pub(super) enum Target {
    One(WorkflowExecution),
    /// All workflows that match this list filter.
    Many {
        query: String,
        rps: f32,
    },
}

/// JSON output for a batch job, with the field names of Temporal's command line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StartedBatch {
    batch_job_id: String,
}

impl TargetArgs {
    /// The target, after a confirmation for a list filter. `doing` is the verb of the question ("Cancel").
    pub(super) async fn confirmed(
        &self,
        doing: &str,
        session: &mut Session,
    ) -> anyhow::Result<Target> {
        let target = self.get()?;
        if let Target::Many { query, .. } = &target
            && !self.yes
        {
            let request = CountWorkflowExecutionsRequest {
                namespace: session.client.namespace.clone(),
                query: query.clone(),
            };
            let counted = session.client.workflow().count_workflow_executions(request).await?;
            let count = u64::try_from(counted.into_inner().count).unwrap_or_default();
            let s = if count == 1 { "" } else { "s" };
            let question = format!("{doing} approximately {} workflow{s}?", thousands(count));
            confirm(&question, false, &mut session.output)?;
        }
        Ok(target)
    }

    /// Whether the positional argument is this word.
    pub(super) fn is(&self, word: &str) -> bool {
        self.id.as_deref() == Some(word)
    }

    fn get(&self) -> anyhow::Result<Target> {
        let id = self.flag.clone().or_else(|| self.id.clone()).filter(|id| !id.is_empty());
        match (id, self.query.clone().filter(|query| !query.is_empty())) {
            (Some(workflow_id), _) => Ok(Target::One(WorkflowExecution {
                workflow_id,
                run_id: self.run_id.clone().unwrap_or_default(),
            })),
            (None, Some(query)) => Ok(Target::Many { query, rps: self.rps.unwrap_or_default() }),
            (None, None) => {
                Err(Usage::new("missing target: give --workflow-id ID for one workflow, or --query FILTER for many").into())
            }
        }
    }
}

/// Starts a batch job and shows its id.
pub(super) async fn start_batch(
    query: String,
    rps: f32,
    reason: Option<String>,
    operation: Operation,
    session: &mut Session,
) -> anyhow::Result<()> {
    let job_id = Client::new_request_id();
    let request = StartBatchOperationRequest {
        namespace: session.client.namespace.clone(),
        visibility_query: query,
        job_id: job_id.clone(),
        reason: reason.unwrap_or_else(default_reason),
        max_operations_per_second: rps,
        operation: Some(operation),
        ..StartBatchOperationRequest::default()
    };
    session.client.workflow().start_batch_operation(request).await?;
    let started = StartedBatch { batch_job_id: job_id };
    session.output.record(&started, |output| {
        let job_id = &started.batch_job_id;
        Ok(output.line(format!("Started batch job {job_id}"))?)
    })?;
    session.output.note(format!(
        "`perennial batch describe --job-id {}` shows the progress",
        started.batch_job_id
    ))?;
    Ok(())
}
