//! Metrics of a real server.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use perennial_library::{Config, Metrics, Perennial, Services, Storage};
use perennial_proto::perennial::{self, CatchupMode, ScheduleExtensions};
use perennial_proto::temporal::common::v1::{WorkflowExecution, WorkflowType};
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{
    IntervalSpec, Schedule, ScheduleAction, ScheduleSpec,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::{
    CreateScheduleRequest, DescribeWorkflowExecutionRequest, PollActivityTaskQueueRequest,
    PollWorkflowTaskQueueRequest, StartWorkflowExecutionRequest,
};
use perennial_server::{CallContext, Listeners};
use perennial_store::{Batch, Durability, Error, SqliteStore, Store, StoreWrapper, StoredEntity};
use perennial_telemetry::table::{self, Kind};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::{Code, Status};

use super::test_server::{ask, ask_with};

/// A store with the trouble that a test asks for.
struct TroubledStore {
    inner: SqliteStore,
    fails_next: AtomicBool,
    is_held: AtomicBool,
    damages: AtomicBool,
}

impl StoreWrapper for TroubledStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn on_commit(&self, batches: &[Batch]) -> Result<(), Error> {
        while self.is_held.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        if self.fails_next.swap(false, Ordering::Relaxed) {
            return Err(Error::Unavailable("as the test wants".to_owned()));
        }
        self.inner.commit(batches)
    }

    fn on_loaded(&self, entity: &mut StoredEntity) {
        if self.damages.load(Ordering::Relaxed) {
            entity.head = vec![0xff; 3];
        }
    }
}

/// A server with metrics.
struct Server {
    services: Services,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    moved: BTreeSet<&'static str>,
}

impl Server {
    async fn start(store: Arc<TroubledStore>) -> Self {
        let mut config = Config::new(Storage::Store(store));
        config.runtime.metrics = Metrics::enabled();
        let perennial = Perennial::open(config).await.unwrap();
        let services = perennial.services().clone();
        let (grpc, metrics) = (bind().await, bind().await);
        let address = metrics.local_addr().unwrap();
        let (stop, told) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let listeners = Listeners::tcp(grpc, None).with_metrics(Some(metrics));
            perennial.serve(listeners, async { drop(told.await) }).await;
            perennial.close().await.unwrap();
        });
        Self { services, address, stop, serving, moved: BTreeSet::new() }
    }

    async fn call(&self, path: &str, request: impl Message) -> Result<Bytes, Status> {
        let message = request.encode_to_vec().into();
        self.services.call(path, CallContext::in_process(), message).await
    }

    async fn call_workflow(&self, rpc: &str, request: impl Message) -> Result<Bytes, Status> {
        let path = format!("/temporal.api.workflowservice.v1.WorkflowService/{rpc}");
        self.call(&path, request).await
    }

    /// The text of a scrape.
    async fn scrape(&mut self) -> String {
        let reply = ask(self.address, "GET", "/metrics").await;
        assert_eq!(reply.code, 200, "{}", reply.body);
        assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        self.moved.extend(moved(&reply.body));
        reply.body
    }

    /// Scrapes until a metric isn't zero.
    async fn until_moved(&mut self, metric: &table::Metric) {
        while !self.moved.contains(metric.name) {
            self.scrape().await;
        }
    }

    async fn stop(self) -> BTreeSet<&'static str> {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
        self.moved
    }
}

async fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// The metrics in a text that aren't zero.
fn moved(text: &str) -> impl Iterator<Item = &'static str> {
    table::ALL.iter().filter(|metric| is_moved(metric, text)).map(|metric| metric.name)
}

fn is_moved(metric: &table::Metric, text: &str) -> bool {
    let name = match metric.kind {
        Kind::Counter | Kind::Gauge => metric.name.to_owned(),
        Kind::Histogram(_) => format!("{}_count", metric.name),
    };
    text.lines().any(|line| {
        let Some(rest) = line.strip_prefix(&name) else { return false };
        let Some(value) = rest.rsplit(' ').next() else { return false };
        rest.starts_with(['{', ' ']) && value.parse::<f64>().unwrap() != 0.0
    })
}

fn queue(name: &str) -> Option<TaskQueue> {
    Some(TaskQueue { name: name.to_owned(), ..TaskQueue::default() })
}

fn order() -> Option<WorkflowType> {
    Some(WorkflowType { name: "Order".to_owned() })
}

fn start(workflow_id: &str) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: order(),
        task_queue: queue("orders"),
        request_id: workflow_id.to_owned(),
        ..StartWorkflowExecutionRequest::default()
    }
}

/// A schedule that fires every second and doesn't catch up. Its first run stays open, so later times are skipped.
fn every_second() -> perennial::CreateScheduleRequest {
    let second = perennial_proto::Duration { seconds: 1, nanos: 0 };
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: "scheduled".to_owned(),
        workflow_type: order(),
        task_queue: queue("orders"),
        ..NewWorkflowExecutionInfo::default()
    };
    let spec = ScheduleSpec {
        interval: vec![IntervalSpec { interval: Some(second), phase: None }],
        ..ScheduleSpec::default()
    };
    let extensions =
        ScheduleExtensions { catchup_mode: CatchupMode::None.into(), ..Default::default() };
    perennial::CreateScheduleRequest {
        schedule: Some(CreateScheduleRequest {
            namespace: "default".to_owned(),
            schedule_id: "often".to_owned(),
            request_id: "often".to_owned(),
            schedule: Some(Schedule {
                spec: Some(spec),
                action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
                ..Schedule::default()
            }),
            ..CreateScheduleRequest::default()
        }),
        extensions: Some(extensions),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_moves() {
    let folder = tempfile::tempdir().unwrap();
    let inner = SqliteStore::open(folder.path().join("metrics.db"), Durability::PowerLoss).unwrap();
    let store = Arc::new(TroubledStore {
        inner,
        fails_next: AtomicBool::new(false),
        is_held: AtomicBool::new(false),
        damages: AtomicBool::new(false),
    });

    // A schedule fires and skips.
    let mut server = Server::start(Arc::clone(&store)).await;
    let path = "/perennial.v1.ScheduleService/CreateSchedule";
    server.call(path, every_second()).await.unwrap();
    server.call_workflow("StartWorkflowExecution", start("damaged")).await.unwrap();
    server.until_moved(&table::SCHEDULE_LAG).await;
    server.until_moved(&table::SCHEDULE_SKIPPED).await;
    let mut moved = server.stop().await;

    // Times pass without a server: the schedule misses them.
    let stopped_at = SystemTime::now();
    while stopped_at.elapsed().unwrap() < Duration::from_secs(2) {
        tokio::task::yield_now().await;
    }
    let mut server = Server::start(Arc::clone(&store)).await;
    server.until_moved(&table::SCHEDULE_MISSED).await;

    // A damaged run, read from the store.
    store.damages.store(true, Ordering::Relaxed);
    let damaged = DescribeWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        execution: Some(WorkflowExecution {
            workflow_id: "damaged".to_owned(),
            ..Default::default()
        }),
    };
    let refused = server.call_workflow("DescribeWorkflowExecution", damaged).await.unwrap_err();
    assert_eq!(refused.code(), Code::DataLoss, "{refused}");
    store.damages.store(false, Ordering::Relaxed);

    // A commit fails, and a message is too large.
    store.fails_next.store(true, Ordering::Relaxed);
    server.until_moved(&table::COMMIT_FAILURES).await;
    let large = server.services.call(
        "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution",
        CallContext::in_process(),
        vec![0; 5 * 1024 * 1024].into(),
    );
    assert_eq!(large.await.unwrap_err().code(), Code::ResourceExhausted);

    // A worker takes a task that has waited, and another waits for one.
    let polled = server.call_workflow(
        "PollWorkflowTaskQueue",
        PollWorkflowTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: queue("orders"),
            ..PollWorkflowTaskQueueRequest::default()
        },
    );
    polled.await.unwrap();
    let services = server.services.clone();
    let idle = tokio::spawn(async move {
        let poll = PollActivityTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: queue("idle"),
            ..PollActivityTaskQueueRequest::default()
        };
        let path = "/temporal.api.workflowservice.v1.WorkflowService/PollActivityTaskQueue";
        services.call(path, CallContext::in_process(), poll.encode_to_vec().into()).await
    });
    server.until_moved(&table::TASK_QUEUE_POLLERS).await;

    // Requests wait for the cell while it commits.
    store.is_held.store(true, Ordering::Relaxed);
    let mut starts = Vec::new();
    // One more each time: the cell may take the first ones in one turn, before it commits.
    while !server.moved.contains(table::CELL_QUEUE_DEPTH.name) {
        let services = server.services.clone();
        let message = start(&format!("waits {}", starts.len())).encode_to_vec();
        starts.push(tokio::spawn(async move {
            let path = "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution";
            services.call(path, CallContext::in_process(), message.into()).await
        }));
        server.scrape().await;
    }
    store.is_held.store(false, Ordering::Relaxed);
    for start in starts {
        start.await.unwrap().unwrap();
    }
    server.scrape().await;
    idle.abort();
    moved.extend(server.stop().await);

    let all = table::ALL.iter().map(|metric| metric.name);
    let is_here = |name: &&str| {
        // Read from `/proc`.
        cfg!(target_os = "linux")
            || ![table::PROCESS_MEMORY.name, table::PROCESS_OPEN_FDS.name].contains(name)
    };
    let unmoved: Vec<_> = all.filter(is_here).filter(|name| !moved.contains(name)).collect();
    assert_eq!(unmoved, Vec::<&str>::new(), "these metrics never moved");
}

#[tokio::test]
async fn server_without_metrics_serves_none() {
    let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    let metrics = perennial.runtime().metrics();
    assert!(!metrics.is_enabled());
    assert_eq!(metrics.render(metrics.scrape()), "");
    perennial.close().await.unwrap();
}

#[tokio::test]
async fn message_that_is_too_large_is_counted_over_http() {
    let mut config = Config::new(Storage::Memory);
    config.runtime.metrics = Metrics::enabled();
    config.server.request_bytes_max = 1_000;
    let perennial = Perennial::open(config).await.unwrap();
    let metrics = Arc::clone(perennial.runtime().metrics());
    let (grpc, http) = (bind().await, bind().await);
    let address = http.local_addr().unwrap();
    let (stop, told) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let listeners = Listeners::tcp(grpc, Some(http));
        perennial.serve(listeners, async { drop(told.await) }).await;
        perennial.close().await.unwrap();
    });
    let path = "/api/v1/namespaces/default/workflows/order";
    let reply = ask_with(address, "POST", path, &"x".repeat(2_000)).await;
    assert_eq!(reply.code, 413, "{}", reply.body);
    let text = metrics.render(metrics.scrape());
    let counted = r#"rpc="StartWorkflowExecution",code="RESOURCE_EXHAUSTED"} 1"#;
    assert!(text.contains(counted), "{text}");
    assert!(text.contains(r#"perennial_refusals_total{reason="message_size"} 1"#), "{text}");
    stop.send(()).unwrap();
    serving.await.unwrap();
}
