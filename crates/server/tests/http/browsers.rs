//! Web pages call only if they are let.

use perennial_server::HttpConfig;

use crate::scene::Scene;

const PATH: &str = "/api/v1/namespaces/default/workflows/w/terminate";
const PAGE: (&str, &str) = ("Origin", "https://ops.example");

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_not_let_in_by_default() {
    let scene = Scene::new().await;
    let answer = scene.ask("POST", PATH, &[PAGE], "{}").await;
    assert_eq!(answer.code, 403);
    assert!(answer.body.contains("--http-cors-origin"), "{}", answer.body);
    let asks = [PAGE, ("Access-Control-Request-Method", "POST")];
    let preflight = scene.ask("OPTIONS", PATH, &asks, "").await;
    assert_eq!(preflight.code, 405);
    let read = scene.ask("GET", "/api/v1/namespaces", &[PAGE], "").await;
    assert_eq!((read.code, read.header("access-control-allow-origin")), (200, None));
    let host = scene.ask("GET", "/api/v1/namespaces", &[("Host", "evil.example")], "").await;
    assert_eq!(host.code, 403);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_allowed_origin_are_let_in() {
    let http = HttpConfig {
        cors_origins: vec!["https://ops.example".to_owned()],
        allowed_hosts: vec!["perennial.example".to_owned()],
        ..HttpConfig::default()
    };
    let scene = Scene::for_callers(http).await;
    let asks = [
        PAGE,
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type,x-namespace"),
    ];
    let preflight = scene.ask("OPTIONS", PATH, &asks, "").await;
    assert_eq!(preflight.code, 204);
    let allowed = "access-control-allow-origin";
    assert_eq!(preflight.header(allowed), Some("https://ops.example"));
    let headers = preflight.header("access-control-allow-headers");
    assert_eq!(headers, Some("content-type,x-namespace"));
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"));

    let answer = scene.ask("POST", PATH, &[PAGE], "{}").await;
    assert_eq!((answer.code, answer.header(allowed)), (404, Some("https://ops.example")));
    assert_eq!(answer.header("vary"), Some("Origin"));
    let stranger = scene.ask("POST", PATH, &[("Origin", "https://evil.example")], "{}").await;
    assert_eq!(stranger.code, 403);
    let named = scene.ask("GET", "/api/v1/namespaces", &[("Host", "perennial.example")], "").await;
    assert_eq!(named.code, 200);
    scene.stop().await;
}
