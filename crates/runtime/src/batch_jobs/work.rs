//! Runs a batch job, page by page.

use std::sync::Arc;
use std::time::Duration;

use perennial_engine::NamespaceKey;
use perennial_engine::run::Rejection;
use perennial_proto::store::{BatchJob, RunName};
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::BatchOperationState;
use perennial_store::visibility::Position;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Refusal, Runtime};

/// Runs processed before the progress is written.
const PAGE: usize = 100;

/// Concurrent operations of a job.
const CONCURRENCY_MAX: usize = 16;

/// Delay between attempts when the store doesn't answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Runs a job until it is done or stopped, or the process ends.
pub(super) async fn work(runtime: &Runtime, mut job: BatchJob) {
    loop {
        match step(runtime, &mut job).await {
            Ok(Step::More) => {}
            Ok(Step::Done) => return,
            Err(Refusal::Rejected(_) | Refusal::Damaged(_)) => {
                // The namespace or a search attribute was removed, or a row is damaged: a retry won't help.
                if finish(runtime, &mut job, BatchOperationState::Failed).await.is_ok() {
                    return;
                }
                tokio::time::sleep(RETRY_DELAY).await;
            }
            // The node that owns the job's slot now goes on with it.
            Err(Refusal::Moved) => return,
            Err(
                Refusal::Unavailable(_)
                | Refusal::Overloaded(_)
                | Refusal::Exhausted(_)
                | Refusal::PagesLost(_)
                | Refusal::TimedOut,
            ) => {
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

enum Step {
    More,
    Done,
}

/// Processes the page in the job's record, then writes the counts and the next page.
async fn step(runtime: &Runtime, job: &mut BatchJob) -> Result<Step, Refusal> {
    let (completed, failed) = operate(runtime, job).await;
    let next = next_page(runtime, job).await?;

    let _lock = runtime.record_lock.lock().await;
    let stored = runtime.batch(NamespaceKey(job.namespace), &job.job_id).await?;
    let is_stopped = stored.state() != BatchOperationState::Running;
    if progress(&stored) != progress(job) {
        // Another node has worked on the job meanwhile, and has counted this page.
        *job = stored;
        return Ok(if is_stopped { Step::Done } else { Step::More });
    }
    let is_done = job.is_last_page;
    // Keep concurrent changes of the record: only counts and pages are written here.
    let mut written = BatchJob {
        completed: stored.completed + completed,
        failed: stored.failed + failed,
        page: next.page,
        is_last_page: next.is_last,
        after: next.after,
        executions_done: next.executions_done,
        ..stored
    };
    if is_done && !is_stopped {
        written.state = BatchOperationState::Completed.into();
        written.closed_at = runtime.now().0;
    }
    runtime.put_batch(&written).await?;
    *job = written;
    Ok(if is_done || is_stopped { Step::Done } else { Step::More })
}

/// The fields that only the worker of a job changes.
fn progress(job: &BatchJob) -> (i64, i64, i64, &[u8], &[WorkflowExecution]) {
    (job.completed, job.failed, job.executions_done, &job.after, &job.page)
}

async fn finish(
    runtime: &Runtime,
    job: &mut BatchJob,
    state: BatchOperationState,
) -> Result<(), Refusal> {
    let _lock = runtime.record_lock.lock().await;
    job.state = state.into();
    job.closed_at = runtime.now().0;
    runtime.put_batch(job).await
}

/// The next page of runs, and the position after it.
#[derive(Default)]
struct Next {
    page: Vec<WorkflowExecution>,
    is_last: bool,
    after: Vec<u8>,
    executions_done: i64,
}

async fn next_page(runtime: &Runtime, job: &BatchJob) -> Result<Next, Refusal> {
    if job.is_last_page {
        return Ok(Next { is_last: true, ..Next::default() });
    }
    if job.query.is_empty() {
        let done = usize::try_from(job.executions_done).unwrap_or(usize::MAX);
        let page: Vec<_> = job.executions.iter().skip(done).take(PAGE).cloned().collect();
        let done = done.saturating_add(page.len());
        let is_last = done >= job.executions.len();
        let executions_done = i64::try_from(done).unwrap_or(i64::MAX);
        return Ok(Next { page, is_last, executions_done, ..Next::default() });
    }
    let namespaces = runtime.namespaces();
    let gone = || Rejection::NotFound("the namespace is gone".to_owned());
    let namespace = namespaces.by_key(NamespaceKey(job.namespace)).ok_or_else(gone)?;
    // A token of another version may not parse: then the job starts again, which is harmless.
    let after = Position::from_token(&job.after).ok();
    let found = runtime.list(namespace, &job.query, PAGE, after).await?;
    // The job itself closes runs and starts new ones, which changes the list: skip runs that closed or started after
    // the job.
    let targets = found.executions.into_iter().filter(|run| {
        run.start_time_nanos < job.started_at
            && run.closed.as_ref().is_none_or(|closed| closed.time_nanos < job.started_at)
    });
    let named =
        targets.map(|run| WorkflowExecution { workflow_id: run.workflow_id, run_id: run.run_id });
    Ok(Next {
        page: named.collect(),
        is_last: found.next.is_none(),
        after: found.next.map_or_else(Vec::new, |next| next.to_token()),
        executions_done: 0,
    })
}

/// Processes the job's page. Counts successes and failures.
async fn operate(runtime: &Runtime, job: &BatchJob) -> (i64, i64) {
    let began = Instant::now();
    let (mut completed, mut failed) = (0, 0);
    let shared = Arc::new(job.clone());
    let mut under_way = JoinSet::new();
    let mut tally = |done: Result<bool, tokio::task::JoinError>| match done {
        Ok(true) => completed += 1,
        Ok(false) | Err(_) => failed += 1,
    };
    for (index, run) in job.page.iter().enumerate() {
        if job.operations_per_second_max > 0.0 {
            let due = index as f32 / job.operations_per_second_max;
            tokio::time::sleep_until(began + Duration::from_secs_f32(due)).await;
        }
        if under_way.len() >= CONCURRENCY_MAX
            && let Some(done) = under_way.join_next().await
        {
            tally(done);
        }
        let target = RunName {
            namespace: job.namespace,
            workflow_id: run.workflow_id.clone(),
            run_id: run.run_id.clone(),
            first_run_id: String::new(),
        };
        let (runtime, job) = (runtime.clone(), Arc::clone(&shared));
        under_way.spawn(async move {
            loop {
                match runtime.operate_anywhere(&job, target.clone()).await {
                    // The outcome is unknown. A repeated operation changes nothing.
                    Err(
                        Refusal::Unavailable(_) | Refusal::Overloaded(_) | Refusal::Exhausted(_),
                    ) => {
                        tokio::time::sleep(RETRY_DELAY).await;
                    }
                    done => return done.is_ok(),
                }
            }
        });
    }
    while let Some(done) = under_way.join_next().await {
        tally(done);
    }
    (completed, failed)
}
