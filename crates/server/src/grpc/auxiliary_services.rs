//! Health and reflection: services about the server itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Frame, Incoming};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use perennial_identity::{Ended, Principal};
use perennial_proto::DESCRIPTORS;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::codec::CompressionEncoding;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic_health::server::HealthReporter;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use super::frame;
use super::lazy_service::LazyService;
use super::response::Body;
use crate::errors::bounded;
use crate::listen::ConnectionLimits;
use crate::memory::MemoryBudget;

type Boxed =
    BoxCloneSyncService<Request<tonic::body::Body>, Response<tonic::body::Body>, Infallible>;

/// Calls of these services at a time. Watches of health last as long as their clients like, and need no credentials.
const CALLS_MAX: usize = 1_000;
/// Bytes of a message to the health service: it names a service.
const HEALTH_BYTES_MAX: usize = 1_024;
/// Bytes of all messages of a call of reflection.
const REFLECTION_BYTES_MAX: usize = 64 * 1_024;

/// The services, by their names.
pub(super) struct AuxiliaryServices {
    services: Vec<(&'static str, Boxed)>,
    places: Arc<Semaphore>,
}

impl AuxiliaryServices {
    /// The services, and the reporter that sets the status of the health service.
    pub(super) fn new() -> (Self, HealthReporter) {
        let (reporter, health) = tonic_health::server::health_reporter();
        let health = health
            .accept_compressed(CompressionEncoding::Gzip)
            .send_compressed(CompressionEncoding::Gzip);
        // Many clients still use the first version of reflection.
        let services = vec![
            named(health),
            named(LazyService::new(|| reflection().build_v1().expect(VALID_DESCRIPTORS))),
            named(LazyService::new(|| reflection().build_v1alpha().expect(VALID_DESCRIPTORS))),
        ];
        (Self { services, places: Arc::new(Semaphore::new(CALLS_MAX)) }, reporter)
    }

    /// Responds to a call of health. Anybody may call it, so its small message is read as a whole first, within the
    /// limits of all messages.
    pub(super) async fn respond_to_health(
        &self,
        head: Parts,
        body: Incoming,
        limits: &ConnectionLimits,
        incomplete: &MemoryBudget,
    ) -> Response<Body> {
        let read = frame::read(body, &head.headers, HEALTH_BYTES_MAX, incomplete);
        let message = match tokio::time::timeout(limits.request_time, read).await {
            Ok(Ok(message)) => message,
            Ok(Err(status)) => return bounded(status).into_http(),
            Err(_) => {
                let late = Status::deadline_exceeded("the message didn't arrive in time");
                return bounded(late).into_http();
            }
        };
        let mut head = head;
        head.headers.remove(frame::ENCODING);
        let message = Full::new(frame::uncompressed(&message));
        self.respond(Request::from_parts(head, tonic::body::Body::new(message))).await
    }

    /// Responds to a call of reflection, whose messages come one by one, until the credentials of its caller end.
    pub(super) async fn respond_to_stream(
        &self,
        request: Request<Incoming>,
        principal: Arc<Principal>,
    ) -> Response<Body> {
        let request = request.map(|body| {
            let limited = Limited::new(body, REFLECTION_BYTES_MAX);
            tonic::body::Body::new(limited.map_err(|error| Status::cancelled(error.to_string())))
        });
        let response = self.respond(request).await;
        response.map(|body| match body {
            Body::Other(body) => {
                let ended = Box::pin(async move { principal.wait_for_end().await });
                Body::Other(tonic::body::Body::new(UntilEnd { body, ended }))
            }
            Body::Message(_) | Body::Trailers | Body::Empty => body,
        })
    }

    async fn respond(&self, request: Request<tonic::body::Body>) -> Response<Body> {
        let path = request.uri().path();
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        let found = self.services.iter().find(|(name, _)| *name == service);
        let Some((_, found)) = found else {
            let status = format!("unknown service {service}, or it has no method {method}");
            return bounded(Status::unimplemented(status)).into_http();
        };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let full =
                format!("{CALLS_MAX} calls of health and reflection are in progress; try later");
            return bounded(Status::resource_exhausted(full)).into_http();
        };
        let response = found.clone().oneshot(request).await;
        let response = response.unwrap_or_else(|never| match never {});
        response.map(|body| Body::Other(tonic::body::Body::new(Held { body, _place: place })))
    }
}

/// The body of a response, which holds its place until it has ended.
struct Held {
    body: tonic::body::Body,
    _place: OwnedSemaphorePermit,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }
}

/// The body of a response, which fails when the credentials of its caller end.
struct UntilEnd {
    body: tonic::body::Body,
    ended: Pin<Box<dyn Future<Output = Ended> + Send>>,
}

impl hyper::body::Body for UntilEnd {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(ended) = self.ended.as_mut().poll(context) {
            return Poll::Ready(Some(Err(Status::unauthenticated(ended.to_string()))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

/// Whether a path is that of the health service, which needs no credentials: load balancers and probes have none.
pub(super) fn is_health(path: &str) -> bool {
    path.starts_with("/grpc.health.v1.Health/")
}

fn named<S>(service: S) -> (&'static str, Boxed)
where
    S: Service<
            Request<tonic::body::Body>,
            Response = Response<tonic::body::Body>,
            Error = Infallible,
            Future: Send,
        > + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
{
    (S::NAME, BoxCloneSyncService::new(service))
}

const VALID_DESCRIPTORS: &str =
    "the descriptors are compiled in, and a test builds the service from them";

/// A builder of the reflection service for all services.
fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reflection_can_be_made_of_the_descriptors() {
        assert!(reflection().build_v1().is_ok());
        assert!(reflection().build_v1alpha().is_ok());
    }
}
