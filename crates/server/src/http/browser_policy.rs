//! Decides whether a caller may use the API, before its request is read.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tonic::Status;

use super::{HttpConfig, HttpResponse, full};

/// Keeps out web pages that aren't allowed.
///
/// A browser on this machine runs untrusted pages, which can send requests to this machine. Two headers tell such
/// requests apart. `Origin` names the page of a cross-origin request: unless the origin is allowed, the request may
/// change nothing, and the browser hides the response. `Host` holds the attacker's host name after DNS rebinding: a
/// server that listens on loopback alone therefore answers only to `localhost`, to IP addresses and to allowed names.
pub(super) struct BrowserPolicy {
    origins: Vec<String>,
    hosts: Vec<String>,
    checks_hosts: bool,
}

/// Permission for a request, with the CORS headers of its response.
pub(super) struct Admission {
    origin: Option<HeaderValue>,
    /// The request headers to allow, if this is a preflight request.
    preflight: Option<HeaderValue>,
}

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");

impl BrowserPolicy {
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
        if self.checks_hosts && !self.is_allowed_host(host_name(host)) {
            return Err(Status::permission_denied(format!(
                "the host name {host:?} isn't allowed; allow it with --http-allowed-host"
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
            // A page can send other requests without asking first, with the certificate of its user.
            let was_asked = is_harmless(method)
                || text(header::CONTENT_TYPE).is_some_and(|it| it.starts_with("application/json"));
            if !was_asked {
                return Err(Status::permission_denied(
                    "web pages have to send `content-type: application/json`",
                ));
            }
            return Ok(Admission { origin: Some(origin.clone()), preflight });
        }
        let is_own = named.split_once("://").is_some_and(|(_, place)| place == host);
        if is_own || is_harmless(method) {
            return Ok(Admission { origin: None, preflight: None });
        }
        Err(Status::permission_denied(format!(
            "web pages of {named:?} may not call this server; allow them with --http-cors-origin"
        )))
    }

    fn is_allowed_host(&self, name: &str) -> bool {
        let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
        is_address
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|host| host == "*" || host.eq_ignore_ascii_case(name))
    }
}

fn is_harmless(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// A host name without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

impl Admission {
    /// The response to a preflight request.
    pub(super) fn preflight(&self) -> Option<HttpResponse> {
        let allowed = self.preflight.clone()?;
        let mut response = Response::new(full(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        self.add_headers(headers);
        Some(response)
    }

    /// Adds the headers that let the page read the response.
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        if let Some(origin) = &self.origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(access: &BrowserPolicy, method: Method, host: &str, origin: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if !origin.is_empty() {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        access.admit(&method, &headers).is_ok()
    }

    #[test]
    fn server_on_loopback_refuses_other_host_names() {
        let access = BrowserPolicy::new(&HttpConfig::default(), true);
        for host in ["localhost:7243", "LOCALHOST", "127.0.0.1:7243", "[::1]:7243", "10.0.0.7"] {
            assert!(admitted(&access, Method::GET, host, ""), "{host}");
        }
        for host in ["evil.example:7243", "localhost.evil.example", "", "127.0.0.1.evil.example"] {
            assert!(!admitted(&access, Method::GET, host, ""), "{host}");
        }
        let hosts = vec!["perennial.example".to_owned()];
        let config = HttpConfig { allowed_hosts: hosts, ..HttpConfig::default() };
        assert!(admitted(
            &BrowserPolicy::new(&config, true),
            Method::GET,
            "Perennial.example:443",
            ""
        ));
        assert!(!admitted(&BrowserPolicy::new(&config, false), Method::GET, "evil.example", ""));
        let open = BrowserPolicy::new(&HttpConfig::default(), false);
        assert!(admitted(&open, Method::GET, "perennial.example", ""));
    }

    #[test]
    fn page_of_another_origin_may_only_read_unless_allowed() {
        let access = BrowserPolicy::new(&HttpConfig::default(), true);
        let host = "localhost:7243";
        assert!(!admitted(&access, Method::POST, host, "https://evil.example"));
        assert!(!admitted(&access, Method::DELETE, host, "null"));
        assert!(!admitted(&access, Method::POST, host, "http://localhost:3000"));
        assert!(admitted(&access, Method::GET, host, "https://evil.example"));
        assert!(admitted(&access, Method::POST, host, "http://localhost:7243"));

        let origins = vec!["https://ops.example".to_owned()];
        let config = HttpConfig { cors_origins: origins, ..HttpConfig::default() };
        let access = BrowserPolicy::new(&config, true);
        assert!(admitted(&access, Method::GET, host, "https://ops.example"));
        let of_page = |content_type: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            headers.insert(header::ORIGIN, "https://ops.example".parse().unwrap());
            headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            access.admit(&Method::POST, &headers).is_ok()
        };
        assert!(of_page("application/json; charset=utf-8"));
        // Browsers send it without asking the server first.
        assert!(!of_page("text/plain"));
        assert!(!admitted(&access, Method::POST, host, "https://ops.example"));
        assert!(!admitted(&access, Method::POST, host, "https://ops.example.evil"));
    }
}
