//! `perennial batch terminate`.

use perennial_proto::temporal::workflowservice::v1::StopBatchOperationRequest;

use super::{JobIdArgs, about_job};
use crate::session::Session;

/// Stop a batch job; its effects so far stay
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    job: JobIdArgs,

    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

const EXAMPLES: &str = r#"Examples:
  perennial batch terminate --job-id 5f0c6c51-… --reason "wrong filter"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let job_id = args.job.get();
    let request = StopBatchOperationRequest {
        namespace: session.client.namespace.clone(),
        job_id: job_id.clone(),
        reason: args.reason,
        identity: session.client.identity.clone(),
    };
    let stopped = session.client.workflow().stop_batch_operation(request).await;
    stopped.map_err(|status| about_job(&job_id, status))?;
    session.output.success(format!("Terminated batch job {job_id}"))
}
