//! Schedules that fire every second on a server that is killed repeatedly.
//!
//! It only writes down what it was told, for someone else to judge: which schedules there were from when to
//! when, and each run that a worker was given.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::schedule::v1::{ScheduleInfo, SchedulePatch};
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    CountWorkflowExecutionsRequest, DescribeScheduleRequest, PatchScheduleRequest,
};
use tokio::task::JoinSet;
use tonic::Status;

use super::spec::{AT_ONCE, create_all, every_second, now_seconds, schedule_id};
use super::worker::{Received, Worker};
use super::{IDENTITY, NAMESPACE, Service, connect};

/// Between tries of a call that has failed, because there is no server, say.
const TRY_AGAIN: Duration = Duration::from_millis(50);
/// When nothing has arrived for so long and no run is open, nothing will.
const SETTLED: Duration = Duration::from_secs(3);
/// When nothing has arrived for so long although runs are open, they are stuck.
const STUCK: Duration = Duration::from_secs(60);

pub(super) async fn run(address: &str, schedules: u64, log: &Path) -> Value {
    let service = connect(address).await;
    let mut log = Log::create(log);
    let mut worker = Worker::start(&connect(address).await);
    let created = create_all(&service, AT_ONCE, schedules, every_second(None, None), None).await;
    assert_eq!(created, schedules, "every schedule is created");
    println!("{}", json!({ "created": created }));

    let mut over = Box::pin(input_ends());
    loop {
        tokio::select! {
            received = worker.received.recv() => log.take(received.expect("the worker works on")),
            () = &mut over => break,
        }
    }
    let stopping = tokio::spawn(stop_all(service.clone(), schedules));
    let open = loop {
        match tokio::time::timeout(SETTLED, worker.received.recv()).await {
            Ok(received) => log.take(received.expect("the worker works on")),
            Err(_) if !stopping.is_finished() => {}
            Err(_) => match open_runs(&service).await {
                0 => break 0,
                open => match tokio::time::timeout(STUCK, worker.received.recv()).await {
                    Ok(received) => log.take(received.expect("the worker works on")),
                    Err(_) => break open,
                },
            },
        }
    };
    for stopped in stopping.await.expect("the schedules are stopped") {
        let Stopped { id, created_at, runs_until, ended_by } = &stopped;
        let info = describe(&service, id).await;
        log.write(format_args!(
            "schedule {id} {created_at} {runs_until} {ended_by} {}",
            info.action_count
        ));
    }
    log.file.flush().expect("the log is written");
    json!({ "runs": log.runs.len(), "executions": log.lines, "open": open })
}

/// What a worker was given, in a file.
struct Log {
    file: BufWriter<File>,
    runs: HashSet<String>,
    lines: u64,
}

impl Log {
    fn create(path: &Path) -> Self {
        let file = BufWriter::new(File::create(path).expect("the log can be written"));
        Self { file, runs: HashSet::new(), lines: 0 }
    }

    fn take(&mut self, received: Received) {
        let Received { schedule_id, nominal, run_id, at: _ } = received;
        self.lines += 1;
        self.write(format_args!("run {schedule_id} {nominal} {run_id}"));
        self.runs.insert(run_id);
    }

    fn write(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.file, "{line}").expect("the log can be written");
    }
}

/// Whatever ends the input ends the load.
async fn input_ends() {
    let ended = tokio::task::spawn_blocking(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    });
    ended.await.expect("the input ends");
}

/// When a schedule acted, in seconds since 1970.
struct Stopped {
    id: String,
    created_at: i64,
    /// It hadn't been told to stop.
    runs_until: u64,
    /// It had said that it has stopped.
    ended_by: u64,
}

async fn stop_all(service: Service, schedules: u64) -> Vec<Stopped> {
    let mut stopping = JoinSet::new();
    let mut stopped = Vec::new();
    for number in 0..schedules {
        if stopping.len() as u64 >= AT_ONCE {
            stopped.extend(stopping.join_next().await);
        }
        stopping.spawn(stop(service.clone(), schedule_id(number)));
    }
    stopped.extend(stopping.join_all().await.into_iter().map(Ok));
    stopped.into_iter().map(|it| it.expect("a schedule is stopped")).collect()
}

async fn stop(service: Service, id: String) -> Stopped {
    let created_at = describe(&service, &id).await.create_time.expect("it was created").seconds;
    let runs_until = now_seconds();
    let patch = PatchScheduleRequest {
        namespace: NAMESPACE.to_owned(),
        schedule_id: id.clone(),
        patch: Some(SchedulePatch { pause: "enough".to_owned(), ..Default::default() }),
        identity: IDENTITY.to_owned(),
        request_id: format!("{id}-enough"),
    };
    let paused = until_heard(|| {
        let (mut service, patch) = (service.clone(), patch.clone());
        async move { service.patch_schedule(patch).await }
    });
    paused.await;
    Stopped { id, created_at, runs_until, ended_by: now_seconds() }
}

async fn describe(service: &Service, id: &str) -> ScheduleInfo {
    let describe =
        DescribeScheduleRequest { namespace: NAMESPACE.to_owned(), schedule_id: id.to_owned() };
    let described = until_heard(|| {
        let (mut service, describe) = (service.clone(), describe.clone());
        async move { service.describe_schedule(describe).await }
    });
    described.await.into_inner().info.expect("a schedule has a state")
}

async fn open_runs(service: &Service) -> i64 {
    let count = CountWorkflowExecutionsRequest {
        namespace: NAMESPACE.to_owned(),
        query: "WorkflowType = 'Scheduled' AND ExecutionStatus = 'Running'".to_owned(),
    };
    let counted = until_heard(|| {
        let (mut service, count) = (service.clone(), count.clone());
        async move { service.count_workflow_executions(count).await }
    });
    counted.await.into_inner().count
}

/// A call without an answer is made again.
async fn until_heard<T, C>(call: impl Fn() -> C) -> T
where
    C: Future<Output = Result<T, Status>>,
{
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(_) => tokio::time::sleep(TRY_AGAIN).await,
        }
    }
}
