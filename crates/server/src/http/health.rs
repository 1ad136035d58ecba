//! `/healthz` and `/readyz`: whether the server lives, and whether it takes requests.

use hyper::StatusCode;
use serde_json::json;

use super::HttpResponse;
use super::response::{self, Format};
use crate::services::Services;

/// A question about the server's health. Anyone may ask: it needs no credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// Whether the process works. If not, it should be restarted.
    Liveness,
    /// Whether the server takes requests. If not, clients should use another one, or wait.
    Readiness,
}

impl Probe {
    /// The probe at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Liveness),
            "/readyz" => Some(Self::Readiness),
            _ => None,
        }
    }

    /// 200, or 503 with the reason.
    pub(super) fn respond(self, services: &Services, format: Format) -> HttpResponse {
        let health = match self {
            Self::Liveness => {
                services.runtime().failure().map_or(Ok(()), |why| Err(why.to_string()))
            }
            Self::Readiness => services.readiness(),
        };
        let (code, body) = match health {
            Ok(()) => (StatusCode::OK, json!({ "status": "ok" })),
            Err(why) => {
                (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "unavailable", "reason": why }))
            }
        };
        response::json(code, response::text(&body, format).into(), format)
    }
}
