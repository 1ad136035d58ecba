//! A worker that ends each run at once and passes on what it has received. As SDKs' workers do, it asks for
//! the next task while it answers the last one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use temporalio_common::protos::temporal::api::command::v1::{
    Command, CompleteWorkflowExecutionCommandAttributes, command::Attributes,
};
use temporalio_common::protos::temporal::api::enums::v1::CommandType;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    PollWorkflowTaskQueueRequest, RespondWorkflowTaskCompletedRequest,
};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tonic::{Code, Request};

use super::spec::task_queue;
use super::{IDENTITY, NAMESPACE, Service};

/// A run that a worker was given. It is given again if the worker's answer got lost.
pub(super) struct Received {
    pub(super) schedule_id: String,
    /// The time that the run is for, in seconds since 1970.
    pub(super) nominal: u64,
    pub(super) run_id: String,
    pub(super) at: SystemTime,
}

pub(super) struct Worker {
    pub(super) received: tokio::sync::mpsc::Receiver<Received>,
    /// They end with the worker.
    _pollers: JoinSet<()>,
}

const POLLERS: usize = 32;
/// Tasks that are being answered; with more than that nothing is asked for.
const ANSWERED_AT_ONCE: usize = 1_000;
/// Temporal's server refuses a poll that names none.
const POLL_TIMEOUT: Duration = Duration::from_secs(70);
/// Runs that nobody has looked at yet.
const UNREAD_MAX: usize = 100_000;
/// Between tries of a call that has failed, because there is no server, say.
const TRY_AGAIN: Duration = Duration::from_millis(20);

impl Worker {
    pub(super) fn start(service: &Service) -> Self {
        let (sender, received) = channel(UNREAD_MAX);
        let mut pollers = JoinSet::new();
        let slots = Arc::new(Semaphore::new(ANSWERED_AT_ONCE));
        for _ in 0..POLLERS {
            pollers.spawn(work(service.clone(), sender.clone(), Arc::clone(&slots)));
        }
        Self { received, _pollers: pollers }
    }
}

async fn work(mut service: Service, received: Sender<Received>, slots: Arc<Semaphore>) {
    let mut answers = JoinSet::new();
    loop {
        while answers.try_join_next().is_some() {}
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let mut poll = Request::new(PollWorkflowTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(task_queue()),
            identity: IDENTITY.to_owned(),
            ..Default::default()
        });
        poll.set_timeout(POLL_TIMEOUT);
        let Ok(task) = service.poll_workflow_task_queue(poll).await else {
            tokio::time::sleep(TRY_AGAIN).await;
            continue;
        };
        let (task, at) = (task.into_inner(), SystemTime::now());
        let Some(run) = task.workflow_execution.filter(|_| !task.task_token.is_empty()) else {
            continue;
        };
        let (schedule_id, nominal) = parts(&run.workflow_id).expect("a run is named by its time");
        let heard =
            Received { schedule_id: schedule_id.to_owned(), nominal, run_id: run.run_id, at };
        if received.send(heard).await.is_err() {
            return;
        }
        let mut service = service.clone();
        answers.spawn(async move {
            complete(&mut service, task.task_token).await;
            drop(slot);
        });
    }
}

/// Says that the run is over, until it has been heard or nobody waits for it any more.
async fn complete(service: &mut Service, task_token: Vec<u8>) {
    let end = CompleteWorkflowExecutionCommandAttributes { result: None };
    let end = Command {
        command_type: CommandType::CompleteWorkflowExecution.into(),
        attributes: Some(Attributes::CompleteWorkflowExecutionCommandAttributes(end)),
        ..Default::default()
    };
    let completed = RespondWorkflowTaskCompletedRequest {
        namespace: NAMESPACE.to_owned(),
        commands: vec![end],
        task_token,
        identity: IDENTITY.to_owned(),
        ..Default::default()
    };
    while let Err(status) = service.respond_workflow_task_completed(completed.clone()).await {
        if matches!(status.code(), Code::NotFound | Code::InvalidArgument) {
            return;
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
}

/// A run is called after its schedule and its time: `nightly-2026-11-16T03:00:00Z`.
fn parts(workflow_id: &str) -> Option<(&str, u64)> {
    const TIME: usize = "2026-11-16T03:00:00Z".len();
    let (schedule, time) = workflow_id.split_at_checked(workflow_id.len().checked_sub(TIME)?)?;
    Some((schedule.strip_suffix('-')?, seconds_since_1970(time)?))
}

fn seconds_since_1970(rfc_3339: &str) -> Option<u64> {
    let mut numbers = rfc_3339.split(['-', 'T', ':', 'Z']).map_while(|it| it.parse::<u64>().ok());
    let mut number = || numbers.next();
    let (year, month, day) = (number()?, number()?, number()?);
    let (hour, minute, second) = (number()?, number()?, number()?);
    // A year that begins in March has its leap day at its end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    Some(((days - 719_469) * 24 + hour) * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_its_schedule_and_its_time() {
        assert_eq!(parts("a-1970-01-01T00:00:00Z"), Some(("a", 0)));
        assert_eq!(parts("a-b-2024-02-29T12:34:56Z"), Some(("a-b", 1_709_210_096)));
        assert_eq!(parts("a-2026-11-16T03:00:00Z"), Some(("a", 1_794_798_000)));
        assert_eq!(parts("a"), None);
    }
}
