//! Compares the server's clock with this machine's.

use std::time::Duration;

use jiff::Timestamp;
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeTaskQueueRequest, PollActivityTaskQueueRequest,
};
use tonic::Request;

use super::findings::Findings;
use crate::client::Client;
use crate::output::instant;

/// A larger difference makes histories hard to read, and schedules look late.
const DIFFERENCE_MAX: Duration = Duration::from_secs(2);

/// Timeout for the requests of this check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Compares the clocks. The server reports when a task queue was last polled, so we poll a queue that nobody uses.
pub(super) async fn check(client: &Client, findings: &mut Findings) {
    let before = Timestamp::now();
    let Some(seen) = seen_polling(client).await else {
        findings.notice("clock", "unknown: the server doesn't report its time");
        return;
    };
    let after = Timestamp::now();
    // The server saw the poll between `before` and `after`.
    let (ahead, behind) = (seen.duration_since(after), before.duration_since(seen));
    let off = ahead.max(behind);
    if off.is_negative() || off.unsigned_abs() <= DIFFERENCE_MAX {
        findings.good("clock", "the server's clock and this machine's agree");
        return;
    }
    let which = if ahead > behind { "ahead of" } else { "behind" };
    findings.bad(
        "clock",
        format!(
            "the server's clock is {off:#} {which} this machine's; schedules follow the server's; synchronise both"
        ),
    );
}

async fn seen_polling(client: &Client) -> Option<Timestamp> {
    let queue = TaskQueue {
        name: format!("perennial-doctor-{}", Client::new_request_id()),
        ..TaskQueue::default()
    };
    let mut poll = Request::new(PollActivityTaskQueueRequest {
        namespace: client.namespace.clone(),
        task_queue: Some(queue.clone()),
        identity: client.identity.clone(),
        ..PollActivityTaskQueueRequest::default()
    });
    poll.set_timeout(CHECK_TIMEOUT);
    let mut polling = client.workflow();
    let look = async {
        let mut pause = tokio::time::interval(Duration::from_millis(20));
        loop {
            pause.tick().await;
            let request = DescribeTaskQueueRequest {
                namespace: client.namespace.clone(),
                task_queue: Some(queue.clone()),
                task_queue_type: TaskQueueType::Activity.into(),
                ..DescribeTaskQueueRequest::default()
            };
            let answer = client.workflow().describe_task_queue(request).await.ok()?.into_inner();
            if let Some(poller) = answer.pollers.first() {
                return instant(poller.last_access_time.as_ref());
            }
        }
    };
    tokio::select! {
        _ = polling.poll_activity_task_queue(poll) => None,
        seen = look => seen,
    }
}
