//! The context of a call: caller, deadline, trace and client, apart from the message.

use std::sync::Arc;

use perennial_identity::Principal;
use perennial_telemetry::{TraceContext, WaitTime};
use tokio::time::Instant;

use crate::cluster::LentSlot;
use crate::grpc_timeout;
use crate::request_id::{self, RequestId};

/// The context of a call: caller, deadline, trace and client, apart from the message. The listener makes it from the
/// headers of the request, and passes it to [`Services::call`](crate::Services::call) with the message.
///
/// ```
/// use perennial_server::{CallContext, Face};
///
/// let context = CallContext::in_process();
/// assert_eq!(context.face, Face::InProcess);
/// assert!(context.principal.is_anonymous());
/// assert!(context.deadline.is_none());
/// ```
#[derive(Debug, Clone)]
pub struct CallContext {
    /// How the request came in.
    pub face: Face,
    /// Who makes the request.
    pub principal: Arc<Principal>,
    /// When the client stops waiting for the response.
    pub deadline: Option<Instant>,
    /// The trace that the request is part of: the client's, or that of the call itself once it is recorded.
    pub trace: Option<TraceContext>,
    /// The id of the call in the log.
    pub request_id: RequestId,
    /// The client's program, as in `temporal-python`. Empty if unknown.
    pub client_name: String,
    /// Optional behaviour that the client understands.
    pub features: ClientFeatures,
    /// How long the call has waited for a task, an event or a worker.
    pub(crate) waited: WaitTime,
    /// Another node of the cluster has passed the call on: it isn't passed on again.
    pub(crate) is_passed_on: bool,
    /// For a poll that may go on at another node.
    pub(crate) lent: Option<LentSlot>,
}

/// How a request comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// As a gRPC call.
    Grpc,
    /// As JSON over HTTP.
    Http,
    /// As a function call in the same process.
    InProcess,
}

impl Face {
    /// The name of the face in a schedule's audit stream.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
            Self::InProcess => "in-process",
        }
    }
}

/// Optional behaviour that a client understands, from its `supported-features` header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientFeatures {
    /// The client follows the run id in any close event. Other clients know it only from continued-as-new.
    pub follows_next_run_id: bool,
}

impl CallContext {
    /// The context of a call in the same process: no deadline, no trace, and nothing is forbidden.
    pub fn in_process() -> Self {
        Self {
            face: Face::InProcess,
            principal: Arc::new(Principal::anonymous()),
            deadline: None,
            trace: None,
            request_id: RequestId::random(),
            client_name: String::new(),
            features: ClientFeatures::default(),
            waited: WaitTime::default(),
            is_passed_on: false,
            lent: None,
        }
    }

    /// The context of a request that came over a connection with this certificate. `header` finds the request's
    /// headers by their names.
    pub(crate) fn from_headers<'a>(
        face: Face,
        principal: Arc<Principal>,
        header: impl Fn(&'static str) -> Option<&'a str>,
    ) -> Self {
        let timeout = header("grpc-timeout").and_then(grpc_timeout::parse);
        let features = header("supported-features").unwrap_or_default();
        Self {
            face,
            principal,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            trace: header("traceparent").and_then(|text| text.parse().ok()),
            request_id: RequestId::of_client(header(request_id::CHOSEN_BY_CLIENT)),
            client_name: header("client-name").unwrap_or_default().to_owned(),
            features: ClientFeatures {
                follows_next_run_id: features.split(',').any(|it| it == "follows-next-run-id"),
            },
            waited: WaitTime::default(),
            is_passed_on: false,
            lent: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anonymous() -> Arc<Principal> {
        Arc::new(Principal::anonymous())
    }

    #[test]
    fn context_is_read_from_headers() {
        let header = |name: &str| match name {
            "client-name" => Some("temporal-go"),
            "grpc-timeout" => Some("70S"),
            "supported-features" => Some("child-policy,follows-next-run-id"),
            "traceparent" => Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            _ => None,
        };
        let context = CallContext::from_headers(Face::Grpc, anonymous(), header);
        assert_eq!(context.client_name, "temporal-go");
        assert!(context.deadline.is_some_and(|deadline| deadline > Instant::now()));
        assert!(context.features.follows_next_run_id);
        assert_eq!(context.trace.map(|trace| trace.flags), Some(1));

        let bare = CallContext::from_headers(Face::Http, anonymous(), |_| None);
        assert_eq!((bare.face, bare.deadline, bare.trace), (Face::Http, None, None));
        assert_eq!(bare.features, ClientFeatures::default());
    }
}
