//! A job at work: page after page of runs.

use std::sync::Arc;
use std::time::Duration;

use perennial_engine::NamespaceKey;
use perennial_engine::run::Rejection;
use perennial_proto::store::{BatchJob, RunName};
use perennial_proto::temporal::enums::v1::BatchOperationState;
use perennial_store::visibility::Position;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::operation;
use crate::{Refusal, Runtime};

/// Runs that are listed, and operated on, before the progress is written.
const PAGE: usize = 100;

/// Operations under way at once.
const AT_ONCE: usize = 16;

/// Between tries to list or to write, when the store doesn't answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Works until the job is done or stopped, or the process ends.
pub(super) async fn work(runtime: &Runtime, mut job: BatchJob) {
    loop {
        match step(runtime, &mut job).await {
            Ok(Step::More) => {}
            Ok(Step::Done) => return,
            Err(Refusal::Rejected(_)) => {
                // The namespace or what the query asks about is gone: nothing will change that.
                if finish(runtime, &mut job, BatchOperationState::Failed).await.is_ok() {
                    return;
                }
                tokio::time::sleep(PATIENCE).await;
            }
            Err(Refusal::Unavailable(_) | Refusal::Overloaded(_) | Refusal::TimedOut) => {
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

enum Step {
    More,
    Done,
}

async fn step(runtime: &Runtime, job: &mut BatchJob) -> Result<Step, Refusal> {
    let (targets, after) = next_page(runtime, job).await?;
    let (completed, failed) = operate(runtime, job, targets).await;

    let _one_at_a_time = runtime.changing.lock().await;
    let stored = runtime.batch(NamespaceKey(job.namespace), &job.job_id).await?;
    let is_stopped = stored.state() != BatchOperationState::Running;
    // What was told while the page was worked on stays: only the counts are ours.
    let mut next = BatchJob { completed: stored.completed + completed, ..stored };
    next.failed += failed;
    let is_done = match after {
        Next::Page(token) => {
            next.after = token;
            false
        }
        Next::Execution(done) => {
            next.executions_done = done;
            false
        }
        Next::Nothing => true,
    };
    if is_done && !is_stopped {
        next.state = BatchOperationState::Completed.into();
        next.closed_at = runtime.now().0;
    }
    runtime.put_batch(&next).await?;
    *job = next;
    Ok(if is_done || is_stopped { Step::Done } else { Step::More })
}

async fn finish(
    runtime: &Runtime,
    job: &mut BatchJob,
    state: BatchOperationState,
) -> Result<(), Refusal> {
    let _one_at_a_time = runtime.changing.lock().await;
    job.state = state.into();
    job.closed_at = runtime.now().0;
    runtime.put_batch(job).await
}

/// Where the job goes on.
enum Next {
    Page(Vec<u8>),
    Execution(i64),
    Nothing,
}

async fn next_page(runtime: &Runtime, job: &BatchJob) -> Result<(Vec<RunName>, Next), Refusal> {
    let named = |workflow_id: &str, run_id: &str| RunName {
        namespace: job.namespace,
        workflow_id: workflow_id.to_owned(),
        run_id: run_id.to_owned(),
        first_run_id: String::new(),
    };
    if job.query.is_empty() {
        let done = usize::try_from(job.executions_done).unwrap_or(usize::MAX);
        let rest = job.executions.iter().skip(done);
        let targets: Vec<_> =
            rest.take(PAGE).map(|run| named(&run.workflow_id, &run.run_id)).collect();
        let done = done.saturating_add(targets.len());
        let next = if done < job.executions.len() {
            Next::Execution(i64::try_from(done).unwrap_or(i64::MAX))
        } else {
            Next::Nothing
        };
        return Ok((targets, next));
    }
    let namespaces = runtime.namespaces();
    let gone = || Rejection::NotFound("the namespace is gone".to_owned());
    let namespace = namespaces.by_key(NamespaceKey(job.namespace)).ok_or_else(gone)?;
    // A token of ours always reads; a job from another version begins anew, which does no harm.
    let after = Position::from_token(&job.after).ok();
    let page = runtime.list(namespace, &job.query, PAGE, after).await?;
    // The job itself closes runs and makes new ones, which move in the list: what closed or began after
    // the job did is none of its business.
    let targets = page.executions.iter().filter(|run| {
        run.start_time_nanos < job.started_at
            && run.closed.as_ref().is_none_or(|closed| closed.time_nanos < job.started_at)
    });
    let targets = targets.map(|run| named(&run.workflow_id, &run.run_id)).collect();
    Ok((targets, page.next.map_or(Next::Nothing, |next| Next::Page(next.to_token()))))
}

/// Counts what went well and what didn't.
async fn operate(runtime: &Runtime, job: &BatchJob, targets: Vec<RunName>) -> (i64, i64) {
    let began = Instant::now();
    let (mut completed, mut failed) = (0, 0);
    let shared = Arc::new(job.clone());
    let mut under_way = JoinSet::new();
    let mut tally = |done: Result<bool, tokio::task::JoinError>| match done {
        Ok(true) => completed += 1,
        Ok(false) | Err(_) => failed += 1,
    };
    for (index, target) in targets.into_iter().enumerate() {
        if job.operations_per_second_max > 0.0 {
            let due = index as f32 / job.operations_per_second_max;
            tokio::time::sleep_until(began + Duration::from_secs_f32(due)).await;
        }
        if under_way.len() >= AT_ONCE
            && let Some(done) = under_way.join_next().await
        {
            tally(done);
        }
        let (runtime, job) = (runtime.clone(), Arc::clone(&shared));
        under_way.spawn(async move { operation::operate(&runtime, &job, target).await.is_ok() });
    }
    while let Some(done) = under_way.join_next().await {
        tally(done);
    }
    (completed, failed)
}
