//! Health and reflection: services about the server itself.

use std::convert::Infallible;

use hyper::body::Incoming;
use hyper::{Request, Response};
use perennial_proto::DESCRIPTORS;
use tonic::Status;
use tonic::codec::CompressionEncoding;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic_health::server::HealthReporter;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use super::lazy_service::LazyService;
use super::response::Body;
use crate::errors::bounded;

type Boxed =
    BoxCloneSyncService<Request<tonic::body::Body>, Response<tonic::body::Body>, Infallible>;

/// The services, by their names.
pub(super) struct AuxiliaryServices(Vec<(&'static str, Boxed)>);

impl AuxiliaryServices {
    /// The services, and the reporter that sets the status of the health service.
    pub(super) fn new() -> (Self, HealthReporter) {
        let (reporter, health) = tonic_health::server::health_reporter();
        let health = health
            .accept_compressed(CompressionEncoding::Gzip)
            .send_compressed(CompressionEncoding::Gzip);
        // Many clients still use the first version of reflection.
        let services = Self(vec![
            named(health),
            named(LazyService::new(|| reflection().build_v1().expect(VALID_DESCRIPTORS))),
            named(LazyService::new(|| reflection().build_v1alpha().expect(VALID_DESCRIPTORS))),
        ]);
        (services, reporter)
    }

    pub(super) async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        let found = self.0.iter().find(|(name, _)| *name == service);
        let Some((_, found)) = found else {
            let status = format!("unknown service {service}, or it has no method {method}");
            return bounded(Status::unimplemented(status)).into_http();
        };
        let response = found.clone().oneshot(request.map(tonic::body::Body::new)).await;
        response.unwrap_or_else(|never| match never {}).map(Body::Other)
    }
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
