//! Keeps the health service up to date with the runtime and its store.

use std::time::Duration;

use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::rpcs::WORKFLOW_SERVICE;
use crate::services::Services;
use crate::stop_signal::StopSignal;

/// How often the runtime is checked. A failure is noticed at once.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The status of the whole server, for clients that name no service.
const WHOLE_SERVER: &str = "";

/// Sets the status of the health service: NOT_SERVING while the store takes no writes, or the server stops.
pub(super) struct Health {
    reporter: HealthReporter,
    services: Services,
    reported: Option<ServingStatus>,
}

impl Health {
    /// Sets the current status.
    pub(super) async fn report(reporter: HealthReporter, services: Services) -> Self {
        let mut health = Self { reporter, services, reported: None };
        health.update().await;
        health
    }

    /// Updates the status until the server stops.
    pub(super) async fn follow(mut self, mut stopping: StopSignal) {
        loop {
            let is_stopping = stopping.is_set();
            self.update().await;
            if is_stopping {
                return;
            }
            let runtime = self.services.runtime();
            let has_failed = runtime.failure().is_some();
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                _ = runtime.failed(), if !has_failed => {}
                () = stopping.wait() => {}
            }
        }
    }

    async fn update(&mut self) {
        let problem = self.services.readiness().err();
        let status = match problem {
            None => ServingStatus::Serving,
            Some(_) => ServingStatus::NotServing,
        };
        if self.reported.replace(status) != Some(status) {
            tracing::debug!(?status, ?problem, "the status of the health service changed");
            for service in [WHOLE_SERVER, WORKFLOW_SERVICE] {
                self.reporter.set_service_status(service, status).await;
            }
        }
    }
}
