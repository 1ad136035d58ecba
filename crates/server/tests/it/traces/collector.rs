//! A collector that keeps the spans it gets over OTLP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use perennial_library::{OtlpConfig, Tracer};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A collector on this machine, and the tracers that export to it.
pub(crate) struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
}

struct Receiver(Arc<Mutex<Vec<Span>>>);

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        self.0.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    pub(crate) fn start() -> Self {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (address, spans) = (incoming.local_addr().unwrap(), Arc::default());
        let receiver = TraceServiceServer::new(Receiver(Arc::clone(&spans)));
        tokio::spawn(Server::builder().add_service(receiver).serve_with_incoming(incoming));
        Self { address, spans }
    }

    pub(crate) fn tracer(&self, ratio: f64) -> Tracer {
        let endpoint = format!("http://{}", self.address);
        Tracer::otlp(&OtlpConfig { endpoint, ratio }).unwrap()
    }

    /// Ends a tracer, and returns all spans that have arrived.
    pub(crate) async fn spans_of(&self, tracer: Tracer) -> Vec<Span> {
        tokio::task::spawn_blocking(move || tracer.close()).await.unwrap();
        self.spans.lock().unwrap().clone()
    }
}

/// The text or number of an attribute.
pub(crate) fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|it| it.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}
