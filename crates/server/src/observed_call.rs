//! What the log and traces say about a call.

use std::time::Instant;

use perennial_proto::prost_reflect::Kind;
use perennial_telemetry::{CallAttributes, CallSpan, Tracer};
use tonic::Code;
use tracing::Instrument;

use crate::call_context::CallContext;
use crate::errors::RpcResult;
use crate::routing::{Field, field_at};

/// The longest name of a namespace that is shown, in bytes.
const NAMESPACE_BYTES_MAX: usize = 256;

/// What is known of every call of an RPC.
pub(crate) struct CallLabels {
    path: String,
    /// The field of the request that has the namespace.
    namespace: Option<Field>,
}

impl CallLabels {
    /// The labels of the RPC at a path, as in `/perennial.v1.ScheduleService/ListBackfills`.
    pub(crate) fn of(path: &str) -> Self {
        let name = path.trim_start_matches('/').replace('/', ".");
        let service = name.rsplit_once('.').and_then(|(service, method)| {
            let service = perennial_proto::descriptors().get_service_by_name(service)?;
            service.methods().find(|it| it.name() == method)
        });
        let namespace = service.and_then(|method| {
            let field = method.input().get_field_by_name("namespace")?;
            let is_text = field.kind() == Kind::String && !field.is_list();
            is_text.then(|| Field { name: "namespace", number: field.number() })
        });
        Self { path: path.to_owned(), namespace }
    }

    fn method(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The namespace in a request. Empty if it has none.
    fn namespace<'a>(&self, message: &'a [u8]) -> &'a str {
        let field = self.namespace.as_ref().map(std::slice::from_ref);
        let found = field.and_then(|path| field_at(message, path));
        let found = found.filter(|name| name.len() <= NAMESPACE_BYTES_MAX);
        found.and_then(|name| str::from_utf8(name).ok()).unwrap_or_default()
    }
}

/// A call in progress, in the log and in its trace.
pub(crate) struct ObservedCall {
    log: tracing::Span,
    trace: Option<CallSpan>,
    begun: Instant,
}

impl ObservedCall {
    /// A call begins. If it is traced, its own span becomes the parent of what it starts.
    pub(crate) fn begin(
        labels: &CallLabels,
        tracer: &Tracer,
        context: &mut CallContext,
        message: &[u8],
    ) -> Self {
        let namespace = labels.namespace(message);
        // The highest level: its fields belong to every line, whatever the levels are.
        let log = tracing::error_span!(
            "call",
            request_id = %context.request_id,
            rpc = labels.method(),
            namespace,
            principal = %context.principal,
        );
        let trace = tracer.begin_call(context.trace.as_ref(), || CallAttributes {
            path: &labels.path,
            namespace,
            principal: context.principal.to_string(),
            request_id: context.request_id.to_string(),
            deadline: context.deadline.map(|deadline| deadline.into_std()),
        });
        if let Some(trace) = &trace {
            context.trace = Some(trace.context());
        }
        Self { log, trace, begun: Instant::now() }
    }

    /// Answers the call.
    pub(crate) async fn run<T>(self, answer: impl Future<Output = RpcResult<T>>) -> RpcResult<T> {
        let Self { log, trace, begun } = self;
        let answer = answer.instrument(log.clone());
        let result = match &trace {
            Some(trace) => trace.times().record(answer).await,
            None => answer.await,
        };
        let code = result.as_ref().err().map_or(Code::Ok, tonic::Status::code);
        log.in_scope(|| {
            let microseconds = begun.elapsed().as_micros() as u64;
            tracing::debug!(?code, microseconds, "answered a call");
        });
        if let Some(trace) = trace {
            trace.end(code.into());
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::workflowservice::v1 as requests;
    use prost::Message;

    use super::*;

    #[test]
    fn namespace_is_found_wherever_the_request_has_it() {
        let service = "/temporal.api.workflowservice.v1.WorkflowService";
        let labels = |rpc: &str| CallLabels::of(&format!("{service}/{rpc}"));
        let start = requests::StartWorkflowExecutionRequest {
            namespace: "shop".to_owned(),
            ..Default::default()
        };
        let start = start.encode_to_vec();
        assert_eq!(labels("StartWorkflowExecution").namespace(&start), "shop");
        // It follows a task token, which is no text.
        let complete = requests::RespondWorkflowTaskCompletedRequest {
            task_token: b"\x0a\x04shop".to_vec(),
            namespace: "bank".to_owned(),
            ..Default::default()
        };
        let complete = complete.encode_to_vec();
        assert_eq!(labels("RespondWorkflowTaskCompleted").namespace(&complete), "bank");
        let list = requests::ListNamespacesRequest { page_size: 7, ..Default::default() };
        assert_eq!(labels("ListNamespaces").namespace(&list.encode_to_vec()), "");
        assert_eq!(labels("StartWorkflowExecution").namespace(b"\xff\xff"), "");
    }
}
