//! What gRPC clients ask a server about itself: its health, and what it can be asked.

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

/// Services by their names.
pub(super) struct AuxiliaryServices(Vec<(&'static str, Boxed)>);

impl AuxiliaryServices {
    /// The services, and who tells the first of them how the server is.
    pub(super) fn new() -> (Self, HealthReporter) {
        let (reporter, health) = tonic_health::server::health_reporter();
        let health = health
            .accept_compressed(CompressionEncoding::Gzip)
            .send_compressed(CompressionEncoding::Gzip);
        // Many clients still ask in the first version's words.
        let services = Self(vec![
            named(health),
            named(LazyService::new(|| described().build_v1().expect(DESCRIBED))),
            named(LazyService::new(|| described().build_v1alpha().expect(DESCRIBED))),
        ]);
        (services, reporter)
    }

    pub(super) async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        let found = self.0.iter().find(|(name, _)| *name == service);
        let Some((_, found)) = found else {
            let status = format!("unknown service {service} or unknown method {method} of it");
            return bounded(Status::unimplemented(status)).into_http();
        };
        let answered = found.clone().oneshot(request.map(tonic::body::Body::new)).await;
        answered.unwrap_or_else(|never| match never {}).map(Body::Other)
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

/// Why it can't fail.
const DESCRIBED: &str = "the descriptors are those this was built with";

/// What reflection shows.
fn described() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reflection_can_be_made_of_the_descriptors() {
        assert!(described().build_v1().is_ok());
        assert!(described().build_v1alpha().is_ok());
    }
}
