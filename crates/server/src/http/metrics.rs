//! The port of metrics and health: `/metrics`, `/healthz` and `/readyz`.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use perennial_telemetry::Protocol;
use tokio::sync::Semaphore;
use tonic::Status;

use super::browser_policy::BrowserPolicy;
use super::health::Probe;
use super::response::{self, Format};
use super::{HttpResponse, connection, full};
use crate::listen::{ListenerLimits, listen};
use crate::process_metrics;
use crate::services::Services;
use crate::stop_signal::StopSignal;
use crate::transport::Accept;

/// Connections at a time. A Prometheus server has one, and so has each prober.
const CONNECTIONS_MAX: usize = 64;
/// Scrapes at a time; more wait. Each looks at every task queue and holds its whole text in memory.
const SCRAPES_MAX: usize = 2;
/// The format of the text: Prometheus reads it by its version.
const TEXT_FORMAT: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// What the connections share.
struct MetricsApi {
    services: Services,
    browsers: BrowserPolicy,
    scrapes: Semaphore,
}

/// Serves metrics and health on `listener` until `stopping` is set.
pub(crate) async fn serve(listener: Box<dyn Accept>, services: Services, stopping: StopSignal) {
    let metrics = services.runtime().metrics().connections(Protocol::Metrics);
    let limits = &services.config().connections;
    let request_time = limits.request_time;
    let limits =
        ListenerLimits { connections_max: CONNECTIONS_MAX, handshake_time: limits.handshake_time };
    let api = Arc::new(MetricsApi {
        browsers: BrowserPolicy::new(&services.config().http, listener.is_local()),
        scrapes: Semaphore::new(SCRAPES_MAX),
        services,
    });
    let until = stopping.clone();
    listen(listener, metrics, limits, stopping, move |connection| {
        let api = Arc::clone(&api);
        let respond = move |request, _in_flight| {
            let api = Arc::clone(&api);
            async move { api.respond(request).await }
        };
        connection::serve_with(connection, request_time, respond, until.clone())
    })
    .await;
}

impl MetricsApi {
    async fn respond(&self, request: Request<Incoming>) -> HttpResponse {
        let (head, _) = request.into_parts();
        let format = Format::of(&head);
        if let Err(refusal) = self.browsers.admit(&head.method, &head.headers) {
            return response::refusal(&refusal, format);
        }
        let path = head.uri.path();
        let probe = Probe::at(path);
        if probe.is_none() && path != "/metrics" {
            let status = format!("there is nothing at {path}; try /metrics, /healthz or /readyz");
            return response::refusal(&Status::not_found(status), format);
        }
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return response::method_not_allowed(&[Method::GET], format);
        }
        match probe {
            Some(probe) => probe.respond(&self.services, format),
            None => self.scrape(format).await,
        }
    }

    async fn scrape(&self, format: Format) -> HttpResponse {
        let _scrape = self.scrapes.acquire().await;
        let services = self.services.clone();
        // It reads the sizes of files, and a disk may hang.
        let text = tokio::task::spawn_blocking(move || {
            let metrics = services.runtime().metrics();
            let scrape = metrics.scrape();
            services.runtime().collect_metrics(&scrape);
            process_metrics::collect(&services, &scrape);
            metrics.render(scrape)
        });
        match text.await {
            Ok(text) => {
                let mut response = Response::new(full(text.into()));
                response.headers_mut().insert(CONTENT_TYPE, TEXT_FORMAT);
                response
            }
            Err(error) => {
                tracing::error!("the metrics can't be collected: {error}");
                let status = Status::internal("the metrics can't be collected; see the log");
                response::refusal(&status, format)
            }
        }
    }
}
