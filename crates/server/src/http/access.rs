//! Which callers are let in, before anything is read.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tonic::Status;

use super::{HttpConfig, HttpResponse, full};

/// Keeps web pages out that nobody has let in.
///
/// A browser on this machine runs pages of strangers, and they can send requests to this machine. Two things
/// tell them from other programs. A request that a page makes to another place names the page in `Origin`: one
/// that isn't let in may change nothing (and, without admission, its browser shows it no answer). A page whose own
/// name was made to point here says that name in `Host`: a server that listens on this machine alone therefore
/// answers to `localhost`, to addresses and to names that it was told.
pub(super) struct AccessPolicy {
    origins: Vec<String>,
    hosts: Vec<String>,
    checks_hosts: bool,
}

/// That a caller is let in, and what its browser has to be told.
pub(super) struct Admission {
    origin: Option<HeaderValue>,
    /// The headers that a browser asks about before it calls.
    preflight: Option<HeaderValue>,
}

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");

impl AccessPolicy {
    pub(super) fn new(config: &HttpConfig, is_local: bool) -> Self {
        Self {
            origins: config.cors_origins.clone(),
            hosts: config.allowed_hosts.clone(),
            checks_hosts: is_local || !config.allowed_hosts.is_empty(),
        }
    }

    pub(super) fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<Admission, Status> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        if self.checks_hosts && !self.answers_to(name_of(host)) {
            return Err(Status::permission_denied(format!(
                "the server doesn't answer to the name {host:?}; --http-allowed-host lets it"
            )));
        }
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(Admission { origin: None, preflight: None });
        };
        let named = origin.to_str().unwrap_or_default();
        if self.origins.iter().any(|allowed| allowed == "*" || allowed == named) {
            let asks = *method == Method::OPTIONS
                && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
            let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
            let preflight =
                asks.then(|| wanted.unwrap_or(HeaderValue::from_static("content-type")));
            return Ok(Admission { origin: Some(origin.clone()), preflight });
        }
        let is_own = named.split_once("://").is_some_and(|(_, place)| place == host);
        let is_harmless = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if is_own || is_harmless {
            return Ok(Admission { origin: None, preflight: None });
        }
        Err(Status::permission_denied(format!(
            "web pages of {named:?} may not call this server; --http-cors-origin lets them"
        )))
    }

    fn answers_to(&self, name: &str) -> bool {
        let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
        is_address
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|host| host == "*" || host.eq_ignore_ascii_case(name))
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

impl Admission {
    /// The answer to a browser that asks before it calls.
    pub(super) fn preflight(&self) -> Option<HttpResponse> {
        let headers = self.preflight.clone()?;
        let mut answer = Response::new(full(Bytes::new()));
        *answer.status_mut() = StatusCode::NO_CONTENT;
        let said = answer.headers_mut();
        said.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        said.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, headers);
        said.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        self.mark(said);
        Some(answer)
    }

    /// Lets the caller's browser show it the answer.
    pub(super) fn mark(&self, headers: &mut HeaderMap) {
        if let Some(origin) = &self.origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(access: &AccessPolicy, method: Method, host: &str, origin: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if !origin.is_empty() {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        access.admit(&method, &headers).is_ok()
    }

    #[test]
    fn server_of_this_machine_alone_answers_to_no_strange_name() {
        let access = AccessPolicy::new(&HttpConfig::default(), true);
        for host in ["localhost:7243", "LOCALHOST", "127.0.0.1:7243", "[::1]:7243", "10.0.0.7"] {
            assert!(admitted(&access, Method::GET, host, ""), "{host}");
        }
        for host in ["evil.example:7243", "localhost.evil.example", "", "127.0.0.1.evil.example"] {
            assert!(!admitted(&access, Method::GET, host, ""), "{host}");
        }
        let hosts = vec!["perennial.example".to_owned()];
        let told = HttpConfig { allowed_hosts: hosts, ..HttpConfig::default() };
        assert!(admitted(
            &AccessPolicy::new(&told, true),
            Method::GET,
            "Perennial.example:443",
            ""
        ));
        assert!(!admitted(&AccessPolicy::new(&told, false), Method::GET, "evil.example", ""));
        let open = AccessPolicy::new(&HttpConfig::default(), false);
        assert!(admitted(&open, Method::GET, "perennial.example", ""));
    }

    #[test]
    fn page_of_another_place_changes_nothing_unless_it_is_let() {
        let access = AccessPolicy::new(&HttpConfig::default(), true);
        let host = "localhost:7243";
        assert!(!admitted(&access, Method::POST, host, "https://evil.example"));
        assert!(!admitted(&access, Method::DELETE, host, "null"));
        assert!(!admitted(&access, Method::POST, host, "http://localhost:3000"));
        assert!(admitted(&access, Method::GET, host, "https://evil.example"));
        assert!(admitted(&access, Method::POST, host, "http://localhost:7243"));

        let origins = vec!["https://ops.example".to_owned()];
        let told = HttpConfig { cors_origins: origins, ..HttpConfig::default() };
        let access = AccessPolicy::new(&told, true);
        assert!(admitted(&access, Method::POST, host, "https://ops.example"));
        assert!(!admitted(&access, Method::POST, host, "https://ops.example.evil"));
    }
}
