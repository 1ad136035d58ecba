//! JSON that is small as text and large in memory.

use std::time::Duration;

use perennial_server::{ConnectionLimits, HttpConfig, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::hostile::test_server::{TestServer, peak_megabytes};

const START: &str = "/api/v1/namespaces/default/workflows/";

/// A start with `count` values, each in a payload of its own or all in one.
fn start(values: usize, in_one: bool) -> String {
    let list = vec!["0"; values].join(",");
    let input = if in_one { format!("[[{list}]]") } else { format!("[{list}]") };
    format!(
        r#"{{"workflowType":{{"name":"Order"}},"taskQueue":{{"name":"queue"}},"input":{input}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_become_payloads_are_counted_before_they_are_built() {
    let server = TestServer::new().await;
    for (values, in_one, words) in [
        (200_000, false, "`input`: the whole has more than 10000 messages"),
        (400_000, false, "has 400011 values, more than the limit of 250000"),
        (2_000_000, true, "has 2000012 values, more than the limit of 250000"),
    ] {
        let body = start(values, in_one);
        // Several at a time, as an attacker would.
        let path = format!("{START}w");
        let ask = || server.post(&path, &body);
        let (one, two, three, four) = tokio::join!(ask(), ask(), ask(), ask());
        for (code, answer) in [one, two, three, four] {
            // A concurrent request may find the memory for HTTP in use.
            match code {
                400 => assert!(answer.contains(words), "{answer}"),
                429 => assert!(answer.contains("JSON over HTTP"), "{answer}"),
                _ => panic!("{code}: {answer}"),
            }
        }
    }
    // Without the limit, one of these took 2.2 GB.
    let peak = peak_megabytes();
    assert!(peak < 600, "{peak} MB");
    // A large value in one payload is accepted.
    let (code, answer) = server.post(&format!("{START}w"), &start(200_000, true)).await;
    assert_eq!(code, 200, "{answer}");
    let (code, history) = server.get(&format!("{START}w/history")).await;
    assert_eq!((code, history.matches("0,0,0").count() > 50_000), (200, true));
    server.assert_well().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_in_lists_are_messages_too() {
    let server = TestServer::new().await;
    let intervals = vec!["{}"; 100_000].join(",");
    let body = format!(r#"{{"schedule":{{"spec":{{"interval":[{intervals}]}}}}}}"#);
    let (code, answer) = server.post("/api/v1/namespaces/default/schedules/s", &body).await;
    assert_eq!(code, 400, "{answer}");
    assert!(answer.contains("the whole has more than 10000 messages"), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_json_is_refused() {
    let server = TestServer::new().await;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let (code, answer) = server.post(&format!("{START}w"), &deep).await;
        assert_eq!(code, 400, "{answer}");
        assert!(answer.contains("nested 100000 levels deep"), "{answer}");
    }
    // Nested failures, deeper than messages may be.
    let failure = format!("{}{{}}{}", r#"{"cause":"#.repeat(110), "}".repeat(110));
    let body = format!(r#"{{"workflowType":{{"name":"x"}},"continuedFailure":{failure}}}"#);
    let (code, answer) = server.post(&format!("{START}w"), &body).await;
    assert_eq!(code, 400, "{answer}");
    server.assert_well().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_responses_share_one_memory_budget() {
    let http = HttpConfig { memory_bytes: 600_000, ..HttpConfig::default() };
    let server = TestServer::with(ServerConfig { http, ..ServerConfig::default() }).await;
    let (code, answer) = server.post(&format!("{START}large"), &start(100_000, true)).await;
    assert_eq!(code, 429, "{answer}");
    let words = "the memory for JSON over HTTP (600000 bytes) is in use; try again in a moment";
    assert!(answer.contains(words), "{answer}");
    // The memory was released.
    for run in 0..10 {
        let (code, answer) = server.post(&format!("{START}{run}"), &start(100, false)).await;
        assert_eq!(code, 200, "{answer}");
    }
    let (code, answer) = server.get(&format!("{START}0/history")).await;
    assert_eq!(code, 200, "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_responses_release_their_memory() {
    let connections = ConnectionLimits {
        request_time: Duration::from_millis(300),
        ..ConnectionLimits::default()
    };
    // Memory to encode one response of two megabytes, and hardly more.
    let http = HttpConfig { memory_bytes: 12_000_000, ..HttpConfig::default() };
    let config = ServerConfig { connections, http, ..ServerConfig::default() };
    let server = TestServer::with(config).await;
    let input = "x".repeat(1_900_000);
    let body = format!(
        r#"{{"workflowType":{{"name":"Order"}},"taskQueue":{{"name":"queue"}},"input":["{input}"]}}"#
    );
    assert_eq!(server.post(&format!("{START}w"), &body).await.0, 200);
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(server.http).await.unwrap();
        let request = format!("GET {START}w/history HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // More than the socket buffers of the operating system hold.
        stream.write_all(request.repeat(10).as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    // Each waits while the unread responses hold all memory. The first ones may be faster.
    for _ in 0..20 {
        let (code, history) = server.get(&format!("{START}w/history")).await;
        assert_eq!((code, history.len() > 1_900_000), (200, true));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn query_with_thousands_of_parameters_is_answered() {
    let server = TestServer::new().await;
    let query = vec!["metricsNames=a"; 3_000].join("&");
    let (code, _) = server.get(&format!("/api/v1/namespaces/default/workflows?{query}")).await;
    assert_eq!(code, 400);
    let nested = format!("execution.{}", "cause.".repeat(5_000));
    let (code, answer) =
        server.get(&format!("/api/v1/namespaces/default/workflows?{nested}")).await;
    assert_eq!(code, 400, "{answer}");
    assert!(answer.len() < 3_000, "{} bytes", answer.len());
    server.stop().await;
}
