//! Applies a job's operation to one run.

use perennial_engine::run::{Command, Rejection, RequestCancel, Run, Signal, Terminate};
use perennial_proto::store::batch_job::Operation;
use perennial_proto::store::batch_reset::Point;
use perennial_proto::store::{BatchJob, BatchReset, RunName};
use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::history::v1::{History, WorkflowExecutionSignaledEventAttributes};
use prost::Message;

use crate::history::damaged_history;
use crate::{Refusal, ResetOptions, Runtime};

/// Applies the operation. A run that is already closed or deleted counts as done, except for a reset: before a
/// crash the job may have closed it itself.
pub(crate) async fn operate(
    runtime: &Runtime,
    job: &BatchJob,
    target: RunName,
) -> Result<(), Refusal> {
    let Some(operation) = &job.operation else {
        return Err(Rejection::InvalidArgument("the job has no operation".to_owned()).into());
    };
    match operation {
        Operation::Terminate(terminate) => {
            let command = Command::Terminate(Terminate {
                reason: job.reason.clone(),
                details: terminate.details.clone(),
                identity: job.identity.clone(),
                links: Vec::new(),
            });
            or_gone(runtime.send(target, command).await.map(|_| ()))
        }
        Operation::Cancel(_) => {
            let command = Command::RequestCancel(RequestCancel {
                request_id: job.job_id.clone(),
                reason: job.reason.clone(),
                identity: job.identity.clone(),
                ..RequestCancel::default()
            });
            or_gone(runtime.send(target, command).await.map(|_| ()))
        }
        Operation::Signal(signal) => {
            let attributes = WorkflowExecutionSignaledEventAttributes {
                signal_name: signal.name.clone(),
                input: signal.input.clone(),
                header: signal.header.clone(),
                identity: job.identity.clone(),
                request_id: job.job_id.clone(),
                ..WorkflowExecutionSignaledEventAttributes::default()
            };
            let signal = Signal { attributes, links: Vec::new() };
            let command = Command::Signal(Box::new(signal));
            or_gone(runtime.send(target, command).await.map(|_| ()))
        }
        Operation::Delete(_) => or_gone(runtime.delete(target).await),
        Operation::Reset(reset) => reset_run(runtime, job, reset, target).await,
    }
}

fn or_gone(done: Result<(), Refusal>) -> Result<(), Refusal> {
    match done {
        Err(Refusal::Rejected(Rejection::AlreadyClosed | Rejection::RunNotFound(_))) => Ok(()),
        done => done,
    }
}

async fn reset_run(
    runtime: &Runtime,
    job: &BatchJob,
    reset: &BatchReset,
    target: RunName,
) -> Result<(), Refusal> {
    let run = runtime.read(target.clone()).await?;
    let here = |event_id| (run.head.run_id.clone(), event_id);
    let point = match &reset.point {
        Some(Point::EventId(event_id)) => Some(here(*event_id)),
        Some(Point::BuildId(build_id)) => point_of_build(&run, build_id)
            .filter(|(run_id, _)| !reset.current_run_only || *run_id == run.head.run_id),
        Some(Point::First(_)) => task_completion(runtime, &run, Which::First).await?.map(here),
        Some(Point::Last(_)) | None => task_completion(runtime, &run, Which::Last).await?.map(here),
    };
    let no_point = || Rejection::NotFound("there is no point to reset the run to".to_owned());
    let (run_id, event_id) = point.ok_or_else(no_point)?;
    let reset = ResetOptions {
        request_id: format!("{}:{}", job.job_id, run.head.run_id),
        reason: job.reason.clone(),
        event_id,
        exclude_signals: reset.exclude_signals,
        exclude_updates: reset.exclude_updates,
    };
    runtime.reset(RunName { run_id, ..target }, reset).await.map(|_| ())
}

/// The run of the chain, and the event, that a build started with.
fn point_of_build(run: &Run, build_id: &str) -> Option<(String, i64)> {
    let points = run.head.reset_points.as_ref()?;
    let point = points.points.iter().find(|point| point.build_id == build_id)?;
    Some((point.run_id.clone(), point.first_workflow_task_completed_id))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    Last,
}

/// The first or the last workflow task of a run that was completed.
async fn task_completion(
    runtime: &Runtime,
    run: &Run,
    which: Which,
) -> Result<Option<i64>, Refusal> {
    const PAGE_BYTES: usize = 1024 * 1024;
    let reverse = which == Which::Last;
    let (mut first, mut last) = (1, run.last_event_id());
    while first <= last {
        let fragments = runtime.history(run, first, last, PAGE_BYTES, reverse).await?;
        let mut seen = false;
        for fragment in fragments {
            seen = true;
            let history = History::decode(fragment.bytes);
            let history = history.map_err(|error| damaged_history(run, &error))?;
            let mut found = history.events.iter().filter(|event| {
                event.event_type() == EventType::WorkflowTaskCompleted
                    && (first..=last).contains(&event.event_id)
            });
            let found = if reverse { found.next_back() } else { found.next() };
            if let Some(event) = found {
                return Ok(Some(event.event_id));
            }
            if reverse {
                last = fragment.first_event_id - 1;
            } else {
                first = fragment.last_event_id + 1;
            }
        }
        if !seen {
            break;
        }
    }
    Ok(None)
}
