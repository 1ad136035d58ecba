//! Traces of calls and workflows, as a collector gets them.

mod collector;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use perennial_library::{CallContext, Config, OtlpConfig, Perennial, Storage, Tracer};
use perennial_proto::temporal::common::v1::{WorkflowExecution, WorkflowType};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeWorkflowExecutionRequest, StartWorkflowExecutionRequest,
    StartWorkflowExecutionResponse, TerminateWorkflowExecutionRequest,
};
use prost::Message;

use self::collector::{Collector, attribute};

const SERVICE: &str = "temporal.api.workflowservice.v1.WorkflowService";
const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const NOT_SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

async fn open(storage: Storage, tracer: &Tracer) -> Perennial {
    let mut config = Config::new(storage);
    config.runtime.tracer = tracer.clone();
    Perennial::open(config).await.unwrap()
}

async fn call(
    perennial: &Perennial,
    rpc: &str,
    traceparent: Option<&str>,
    request: impl Message,
) -> Result<bytes::Bytes, tonic::Status> {
    let mut context = CallContext::in_process();
    context.trace = traceparent.map(|text| text.parse().unwrap());
    let path = format!("/{SERVICE}/{rpc}");
    perennial.services().call(&path, context, request.encode_to_vec().into()).await
}

/// Starts a workflow. Returns its run id.
async fn start(perennial: &Perennial, id: &str, traceparent: Option<&str>) -> String {
    let request = StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: id.to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() }),
        ..StartWorkflowExecutionRequest::default()
    };
    let started = call(perennial, "StartWorkflowExecution", traceparent, request).await.unwrap();
    StartWorkflowExecutionResponse::decode(started).unwrap().run_id
}

async fn terminate(perennial: &Perennial, id: &str, traceparent: Option<&str>) {
    let request = TerminateWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_execution: execution(id),
        ..TerminateWorkflowExecutionRequest::default()
    };
    call(perennial, "TerminateWorkflowExecution", traceparent, request).await.unwrap();
}

fn execution(id: &str) -> Option<WorkflowExecution> {
    Some(WorkflowExecution { workflow_id: id.to_owned(), run_id: String::new() })
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    let mut found = spans.iter().filter(|span| span.name == name);
    let span = found.next().unwrap_or_else(|| panic!("{name} is not among {names:?}"));
    assert!(found.next().is_none(), "{name} is twice among {names:?}");
    span
}

fn parent_of_header() -> (Vec<u8>, Vec<u8>) {
    let trace_id = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes().to_vec();
    (trace_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes().to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn call_continues_the_trace_of_its_caller_and_shows_its_phases() {
    let collector = Collector::start();
    let tracer = collector.tracer(1.0);
    let perennial = open(Storage::Memory, &tracer).await;
    start(&perennial, "order-7", Some(TRACEPARENT)).await;
    perennial.close().await.unwrap();
    let spans = collector.spans_of(tracer).await;

    let (trace_id, caller) = parent_of_header();
    let call = named(&spans, &format!("{SERVICE}/StartWorkflowExecution"));
    assert_eq!((&call.trace_id, &call.parent_span_id), (&trace_id, &caller));
    assert_eq!(call.kind(), SpanKind::Server);
    for (key, value) in [
        ("rpc.system", "grpc"),
        ("rpc.service", SERVICE),
        ("rpc.method", "StartWorkflowExecution"),
        ("rpc.grpc.status_code", "0"),
        ("perennial.namespace", "default"),
        ("perennial.principal", "anonymous"),
    ] {
        assert_eq!(attribute(call, key).as_deref(), Some(value), "{key}");
    }
    assert!(attribute(call, "perennial.request_id").is_some());

    let phases = ["cell queue", "cell turn", "commit"].map(|name| named(&spans, name));
    let mut last = call.start_time_unix_nano;
    for phase in phases {
        assert_eq!((&phase.trace_id, &phase.parent_span_id), (&trace_id, &call.span_id));
        assert!(last <= phase.start_time_unix_nano, "{}", phase.name);
        assert!(phase.start_time_unix_nano <= phase.end_time_unix_nano, "{}", phase.name);
        last = phase.end_time_unix_nano;
    }
    assert!(last <= call.end_time_unix_nano);
    assert_eq!(spans.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn workflow_is_one_span_below_the_call_that_started_it_even_after_a_restart() {
    let collector = Collector::start();
    let folder = tempfile::tempdir().unwrap();
    let file =
        || Storage::File { path: folder.path().join("state.db"), options: Default::default() };
    let before = collector.tracer(1.0);
    let perennial = open(file(), &before).await;
    let run_id = start(&perennial, "order-7", Some(TRACEPARENT)).await;
    perennial.close().await.unwrap();
    let first_spans = collector.spans_of(before).await;
    let call = named(&first_spans, &format!("{SERVICE}/StartWorkflowExecution")).clone();
    assert!(!first_spans.iter().any(|span| span.name.starts_with("workflow")));

    let after = collector.tracer(1.0);
    let perennial = open(file(), &after).await;
    terminate(&perennial, "order-7", None).await;
    perennial.close().await.unwrap();
    let spans = collector.spans_of(after).await;
    let workflow = named(&spans, "workflow Order");
    assert_eq!(workflow.trace_id, call.trace_id);
    assert_eq!(workflow.parent_span_id, call.span_id);
    for (key, value) in [
        ("perennial.namespace", "default"),
        ("temporal.workflow_id", "order-7"),
        ("temporal.run_id", &run_id),
        ("temporal.workflow_type", "Order"),
        ("temporal.workflow_status", "Terminated"),
    ] {
        assert_eq!(attribute(workflow, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(workflow.status.as_ref().unwrap().code(), StatusCode::Error);
    // It began in the call, and ended in another that came after the restart.
    let end = named(&spans, &format!("{SERVICE}/TerminateWorkflowExecution"));
    assert_ne!(end.trace_id, call.trace_id);
    assert!(workflow.start_time_unix_nano <= call.end_time_unix_nano);
    assert!(workflow.end_time_unix_nano >= end.start_time_unix_nano);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_recorded_of_calls_that_are_not_sampled() {
    let collector = Collector::start();
    // Its caller records nothing, whatever the ratio is.
    let all = collector.tracer(1.0);
    let perennial = open(Storage::Memory, &all).await;
    start(&perennial, "order-7", Some(NOT_SAMPLED)).await;
    terminate(&perennial, "order-7", Some(NOT_SAMPLED)).await;
    perennial.close().await.unwrap();
    assert_eq!(collector.spans_of(all).await, []);
    // It has no caller that records, and the ratio lets none begin here.
    let none = collector.tracer(0.0);
    let perennial = open(Storage::Memory, &none).await;
    start(&perennial, "order-7", None).await;
    terminate(&perennial, "order-7", None).await;
    start(&perennial, "order-8", Some(TRACEPARENT)).await;
    perennial.close().await.unwrap();
    let spans = collector.spans_of(none).await;
    let (trace_id, _) = parent_of_header();
    assert!(spans.iter().all(|span| span.trace_id == trace_id), "{spans:?}");
    assert_eq!(spans.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_call_has_its_code() {
    let collector = Collector::start();
    let tracer = collector.tracer(1.0);
    let perennial = open(Storage::Memory, &tracer).await;
    let request = DescribeWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        execution: execution("nothing"),
    };
    call(&perennial, "DescribeWorkflowExecution", None, request).await.unwrap_err();
    perennial.close().await.unwrap();
    let spans = collector.spans_of(tracer).await;
    let call = named(&spans, &format!("{SERVICE}/DescribeWorkflowExecution"));
    assert_eq!(attribute(call, "rpc.grpc.status_code").as_deref(), Some("5"));
    // The caller's mistake is no fault of the server.
    assert_eq!(call.status.clone().unwrap_or_default().code(), StatusCode::Unset);
    assert!(call.parent_span_id.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn server_works_without_its_collector() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let tracer = Tracer::otlp(&OtlpConfig { endpoint, ratio: 1.0 }).unwrap();
    let perennial = open(Storage::Memory, &tracer).await;
    start(&perennial, "order-7", Some(TRACEPARENT)).await;
    perennial.close().await.unwrap();
    tokio::task::spawn_blocking(move || tracer.close()).await.unwrap();
}

#[tokio::test]
async fn unusable_configuration_is_refused() {
    let refusal = |endpoint: &str, ratio| {
        let config = OtlpConfig { endpoint: endpoint.to_owned(), ratio };
        Tracer::otlp(&config).unwrap_err().to_string()
    };
    assert!(refusal("localhost:4317", 1.0).contains("http://localhost:4317"));
    assert!(refusal("http://", 1.0).contains("http://"));
    for ratio in [-0.1, 1.1, f64::NAN] {
        assert!(refusal("http://localhost:4317", ratio).contains("from 0 to 1"), "{ratio}");
    }
}
