//! `perennial batch describe`.

use perennial_proto::temporal::enums::v1::{BatchOperationState, BatchOperationType};
use perennial_proto::temporal::workflowservice::v1::DescribeBatchOperationRequest;

use super::{JobIdArgs, about_job};
use crate::output::{Card, instant, short_name};
use crate::session::Session;

/// Show the progress of a batch job
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial batch describe --job-id 5f0c6c51-…\n")]
pub(super) struct Args {
    #[command(flatten)]
    job: JobIdArgs,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let job_id = args.job.get();
    let request = DescribeBatchOperationRequest {
        namespace: session.client.namespace.clone(),
        job_id: job_id.clone(),
    };
    let answer = session.client.workflow().describe_batch_operation(request).await;
    let answer = answer.map_err(|status| about_job(&job_id, status))?.into_inner();
    session.output.message(&answer, |output| {
        let total = answer.total_operation_count;
        let mut card = Card::default();
        card.field("JobId", answer.job_id.clone())
            .field("Type", operation_name(answer.operation_type()))
            .field("State", state_name(answer.state()))
            .field("Query", answer.query.clone())
            .field("Reason", answer.reason.clone())
            .field("Identity", answer.identity.clone())
            .field("StartTime", output.times.show(instant(answer.start_time.as_ref())))
            .field("CloseTime", output.times.show(instant(answer.close_time.as_ref())))
            .field("CompletedCount", format!("{}/{total}", answer.complete_operation_count))
            .field("FailureCount", format!("{}/{total}", answer.failure_operation_count));
        Ok(output.card(&card)?)
    })
}

/// `Running`, `Completed`, `Failed`.
pub(super) fn state_name(state: BatchOperationState) -> String {
    short_name(state.as_str_name(), "BATCH_OPERATION_STATE_")
}

/// `Terminate`, `Cancel`, `Signal`.
pub(super) fn operation_name(operation: BatchOperationType) -> String {
    short_name(operation.as_str_name(), "BATCH_OPERATION_TYPE_")
}
