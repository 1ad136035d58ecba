//! Web pages may call only if their origin is allowed.

use perennial_server::HttpConfig;

use crate::http::test_server::TestServer;

const PATH: &str = "/api/v1/namespaces/default/workflows/w/terminate";
const PAGE: (&str, &str) = ("Origin", "https://ops.example");

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_may_not_call_by_default() {
    let server = TestServer::new().await;
    let json = ("Content-Type", "application/json");
    let answer = server.ask("POST", PATH, &[PAGE, json], "{}").await;
    assert_eq!(answer.code, 403);
    assert!(answer.body.contains("--http-cors-origin"), "{}", answer.body);
    let asks = [PAGE, ("Access-Control-Request-Method", "POST")];
    let preflight = server.ask("OPTIONS", PATH, &asks, "").await;
    assert_eq!(preflight.code, 405);
    let read = server.ask("GET", "/api/v1/namespaces", &[PAGE], "").await;
    assert_eq!((read.code, read.header("access-control-allow-origin")), (200, None));
    let host = server.ask("GET", "/api/v1/namespaces", &[("Host", "evil.example")], "").await;
    assert_eq!(host.code, 403);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_of_an_allowed_origin_may_call() {
    let http = HttpConfig {
        cors_origins: vec!["https://ops.example".to_owned()],
        allowed_hosts: vec!["perennial.example".to_owned()],
        ..HttpConfig::default()
    };
    let server = TestServer::for_callers(http).await;
    let asks = [
        PAGE,
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type,x-namespace"),
    ];
    let preflight = server.ask("OPTIONS", PATH, &asks, "").await;
    assert_eq!(preflight.code, 204);
    let allowed = "access-control-allow-origin";
    assert_eq!(preflight.header(allowed), Some("https://ops.example"));
    let headers = preflight.header("access-control-allow-headers");
    assert_eq!(headers, Some("content-type,x-namespace"));
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"));

    let json = ("Content-Type", "application/json");
    let answer = server.ask("POST", PATH, &[PAGE, json], "{}").await;
    assert_eq!((answer.code, answer.header(allowed)), (404, Some("https://ops.example")));
    assert_eq!(answer.header("vary"), Some("Origin"));
    let stranger = server.ask("POST", PATH, &[("Origin", "https://evil.example")], "{}").await;
    assert_eq!(stranger.code, 403);
    let named = server.ask("GET", "/api/v1/namespaces", &[("Host", "perennial.example")], "").await;
    assert_eq!(named.code, 200);
    server.stop().await;
}
