//! What the health service says: the truth about the runtime and its store.

use std::time::Duration;

use perennial_runtime::Runtime;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::rpcs::WORKFLOW_SERVICE;
use crate::stop_signal::StopSignal;

/// How often the runtime is asked; a failure is heard of at once.
const EVERY: Duration = Duration::from_millis(500);
/// The server as a whole, to clients that name no service.
const WHOLE_SERVER: &str = "";

/// Tells whoever asks whether the server serves: it doesn't while its store takes no writes.
pub(super) struct Health {
    reporter: HealthReporter,
    runtime: Runtime,
    told: Option<ServingStatus>,
}

impl Health {
    /// Tells how the server is now.
    pub(super) async fn report(reporter: HealthReporter, runtime: Runtime) -> Self {
        let mut health = Self { reporter, runtime, told: None };
        health.tell(false).await;
        health
    }

    /// Goes on telling until the server stops.
    pub(super) async fn follow(mut self, mut stopping: StopSignal) {
        loop {
            let is_stopping = stopping.is_set();
            self.tell(is_stopping).await;
            if is_stopping {
                return;
            }
            let has_failed = self.runtime.health().is_err();
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                _ = self.runtime.failed(), if !has_failed => {}
                () = stopping.wait() => {}
            }
        }
    }

    async fn tell(&mut self, is_stopping: bool) {
        let problem = self.runtime.health().err();
        let status = if problem.is_none() && !is_stopping {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        if self.told.replace(status) != Some(status) {
            tracing::debug!(?status, ?problem, "the health service says so from now on");
            for service in [WHOLE_SERVER, WORKFLOW_SERVICE] {
                self.reporter.set_service_status(service, status).await;
            }
        }
    }
}
