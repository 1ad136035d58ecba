//! `perennial batch list`.

use perennial_proto::temporal::workflowservice::v1::ListBatchOperationsRequest;

use super::describe::{operation_name, state_name};
use crate::output::{Column, Row, instant};
use crate::session::Session;

/// List batch jobs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial batch list --limit 5\n")]
pub(super) struct Args {
    /// Show at most this many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let columns = ["JobId", "Type", "State", "StartTime"].map(Column::new).into_iter();
    let mut list = session.output.list(columns.chain([Column::if_room("CloseTime")]).collect());
    let mut next_page_token = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let request = ListBatchOperationsRequest {
            namespace: client.namespace.clone(),
            next_page_token,
            ..ListBatchOperationsRequest::default()
        };
        let page = client.workflow().list_batch_operations(request).await?.into_inner();
        for job in page.operation_info.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            list.push(job, |times| {
                Row::from([
                    job.job_id.clone(),
                    operation_name(job.operation_type()),
                    state_name(job.state()),
                    times.show(instant(job.start_time.as_ref())),
                    times.show(instant(job.close_time.as_ref())),
                ])
            })?;
            left -= 1;
        }
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    if list.finish()? == 0 {
        session.output.note(format!("no batch jobs in the namespace {}", client.namespace))?;
    }
    Ok(())
}
