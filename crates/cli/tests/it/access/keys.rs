//! API keys: what ends with them, and what they leave in the records.

use std::io::{Read, Write};
use std::net::TcpStream;

use bytes::Bytes;
use perennial_proto::perennial::{ListScheduleEventsRequest, ListScheduleEventsResponse};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeNamespaceRequest, ListNamespacesRequest, ListNamespacesResponse, PatchScheduleRequest,
    PollWorkflowTaskQueueRequest,
};
use prost::Message;
use tonic::Code;

use super::secured_server::{SecuredServer, call, code};

const WORKFLOW_SERVICE: &str = "/temporal.api.workflowservice.v1.WorkflowService";

fn encoded(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

fn poll() -> Bytes {
    encoded(&PollWorkflowTaskQueueRequest {
        namespace: "shop".to_owned(),
        task_queue: Some(TaskQueue { name: "orders".to_owned(), ..TaskQueue::default() }),
        identity: "w".to_owned(),
        ..PollWorkflowTaskQueueRequest::default()
    })
}

/// Waits until a poll is parked in the task queue.
async fn wait_for_poller(server: &SecuredServer) {
    let describe = ["task-queue", "describe", "orders", "--namespace", "shop"];
    while !server.json(&describe).to_string().contains("\"w\"") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_key_ends_its_polls_and_is_refused() {
    let server = SecuredServer::start();
    let key = server.api_key("worker", "shop:worker");
    let channel = server.channel().await;
    let path = format!("{WORKFLOW_SERVICE}/PollWorkflowTaskQueue");
    let polling = {
        let (channel, path, key) = (channel.clone(), path.clone(), key.clone());
        tokio::spawn(async move { call(&channel, &path, Some(&key), poll()).await })
    };
    wait_for_poller(&server).await;
    let keys = server.json(&["operator", "api-key", "list"]);
    let worker = keys["apiKeys"].as_array().unwrap().iter().find(|it| it["name"] == "worker");
    let id = worker.unwrap()["id"].as_str().unwrap().to_owned();
    server.run(&["operator", "api-key", "revoke", &id, "--yes"]);

    let ended = polling.await.unwrap().unwrap_err();
    assert_eq!(
        (ended.code(), ended.message()),
        (Code::Unauthenticated, "the credentials were revoked")
    );
    let refused = call(&channel, &path, Some(&key), poll()).await;
    assert_eq!(code(&refused), Code::Unauthenticated);
    let keys = server.json(&["operator", "api-key", "list"]);
    let worker = keys["apiKeys"].as_array().unwrap().iter().find(|it| it["name"] == "worker");
    assert_eq!(worker.unwrap()["revokedBy"], "api-key:admin");
    assert!(worker.unwrap()["lastUsedAt"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_forbidden_namespaces_answer_alike() {
    let server = SecuredServer::start();
    let (key, channel) = (server.api_key("reader", "shop:read"), server.channel().await);
    let path = format!("{WORKFLOW_SERVICE}/DescribeNamespace");
    let describe = |namespace: &str, id: &str| {
        encoded(&DescribeNamespaceRequest {
            namespace: namespace.to_owned(),
            id: id.to_owned(),
            ..Default::default()
        })
    };
    let of = |name: &str| {
        let (channel, path, key, request) =
            (channel.clone(), path.clone(), key.clone(), describe(name, ""));
        async move { call(&channel, &path, Some(&key), request).await.unwrap_err() }
    };
    let (bank, nowhere) = (of("bank").await, of("bnak").await);
    assert_eq!(bank.code(), Code::PermissionDenied);
    assert_eq!(bank.message().replace("bank", "bnak"), nowhere.message());

    let admin = Some(server.admin_key.as_str());
    let list = encoded(&ListNamespacesRequest { page_size: 100, ..Default::default() });
    let listing = format!("{WORKFLOW_SERVICE}/ListNamespaces");
    let names = |bytes: Bytes| {
        let page = ListNamespacesResponse::decode(bytes).unwrap();
        let infos = page.namespaces.into_iter().map(|it| it.namespace_info.unwrap());
        infos.map(|it| (it.name, it.id)).collect::<Vec<_>>()
    };
    let all = names(call(&channel, &listing, admin, list.clone()).await.unwrap());
    assert_eq!(all.len(), 3);
    let seen = names(call(&channel, &listing, Some(&key), list).await.unwrap());
    assert_eq!(seen.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["shop"]);
    // By id, too.
    let bank_id = all.iter().find(|(name, _)| name == "bank").unwrap().1.clone();
    for (name, id) in all {
        let result = call(&channel, &path, Some(&key), describe("", &id)).await;
        let expected = if name == "shop" { Code::Ok } else { Code::PermissionDenied };
        assert_eq!(code(&result), expected, "{name}");
    }
    let unknown = call(&channel, &path, Some(&key), describe("", "no-such-id")).await.unwrap_err();
    let forbidden = call(&channel, &path, Some(&key), describe("", &bank_id)).await.unwrap_err();
    assert_eq!((unknown.code(), unknown.message()), (Code::PermissionDenied, forbidden.message()));
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_stream_names_the_principal_whatever_the_client_claims() {
    let server = SecuredServer::start();
    let (key, channel) = (server.api_key("ops", "shop:write"), server.channel().await);
    let create = [
        "schedule",
        "create",
        "nightly",
        "--namespace",
        "shop",
        "--cron",
        "0 2 * * *",
        "--type",
        "Report",
        "--task-queue",
        "main",
        "--identity",
        "mallory",
    ];
    server.run(&create);
    let patch = PatchScheduleRequest {
        namespace: "shop".to_owned(),
        schedule_id: "nightly".to_owned(),
        identity: "mallory".to_owned(),
        patch: Some(perennial_proto::temporal::schedule::v1::SchedulePatch {
            pause: "holiday".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let path = format!("{WORKFLOW_SERVICE}/PatchSchedule");
    call(&channel, &path, Some(&key), encoded(&patch)).await.unwrap();
    let list = ListScheduleEventsRequest {
        namespace: "shop".to_owned(),
        schedule_id: "nightly".to_owned(),
        ..Default::default()
    };
    let path = "/perennial.v1.ScheduleService/ListScheduleEvents";
    let events = call(&channel, path, Some(&key), encoded(&list)).await.unwrap();
    let events = ListScheduleEventsResponse::decode(events).unwrap();
    let said = format!("{events:?}");
    assert!(!said.contains("mallory"), "{said}");
    assert!(said.contains("api-key:admin") && said.contains("api-key:ops"), "{said}");
}

#[test]
fn first_key_is_made_in_the_file_of_a_stopped_server_only() {
    let server = SecuredServer::start();
    let db = server.file("perennial.db");
    let create =
        crate::perennial::perennial(&["operator", "api-key", "create", "--name", "second"])
            .args(["--role", "admin", "--whole-server", "--db"])
            .arg(db)
            .output()
            .unwrap();
    assert!(!create.status.success());
    let said = String::from_utf8_lossy(&create.stderr);
    assert!(said.contains("has the file open; stop it"), "{said}");
}

#[test]
fn server_that_asks_nobody_listens_on_this_machine_alone() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("perennial.db");
    let refused = crate::perennial::perennial(&[
        "server",
        "--ip",
        "0.0.0.0",
        "--port",
        "0",
        "--no-http",
        "--db",
    ])
    .arg(&db)
    .output()
    .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--auth required") && said.contains("--allow-unauthenticated"), "{said}");
    assert!(!db.exists(), "nothing was begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_of_the_server_sets_its_log_levels() {
    let server = SecuredServer::start();
    server.run(&["operator", "log-levels", "warn,perennial_server=debug"]);
    let channel = server.channel().await;
    let path = "/perennial.v1.AdminService/SetLogLevels";
    let set = |levels: &str| {
        let levels = levels.to_owned();
        encoded(&perennial_proto::perennial::SetLogLevelsRequest { levels })
    };
    let admin = Some(server.admin_key.as_str());
    assert_eq!(code(&call(&channel, path, admin, set("loud")).await), Code::InvalidArgument);
    let other = server.api_key("shop-admin", "shop:admin");
    let refused = call(&channel, path, Some(&other), set("trace")).await;
    assert_eq!(code(&refused), Code::PermissionDenied);
}

#[test]
fn key_that_is_revoked_while_its_message_arrives_does_nothing() {
    let server = SecuredServer::start();
    let key = server.api_key("slow", "*:admin");
    let body = r#"{"name": "mine", "permissions": ["*:admin"]}"#;
    let mut stream = TcpStream::connect(&server.http_address).unwrap();
    let head = format!(
        "POST /api/v1/api-keys HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n{}",
        body.len(),
        &body[..7]
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The request counts as a use of the key once the server knows who calls.
    let of_slow = || {
        let keys = server.json(&["operator", "api-key", "list"]);
        let keys = keys["apiKeys"].as_array().unwrap().clone();
        keys.into_iter().find(|it| it["name"] == "slow").unwrap()
    };
    while of_slow()["lastUsedAt"].is_null() {}
    server.run(&["operator", "api-key", "revoke", of_slow()["id"].as_str().unwrap(), "--yes"]);
    stream.write_all(&body.as_bytes()[7..]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(!server.json(&["operator", "api-key", "list"]).to_string().contains("mine"));
}

#[test]
fn header_that_is_unclear_proves_nothing() {
    let server = SecuredServer::start();
    let key = &server.admin_key;
    for headers in [
        format!("Authorization: Bearer {key}\r\nAuthorization: Bearer {key}"),
        format!("Authorization: Bearer {key}\r\nGrpc-Metadata-Authorization: Bearer x"),
        format!("Authorization: Bearer {key}é"),
        "Authorization: Basic YWRtaW46".to_owned(),
    ] {
        let mut stream = TcpStream::connect(&server.http_address).unwrap();
        let head = format!(
            "GET /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 401"), "{headers}: {answer}");
        assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
    }
}

#[test]
fn server_that_asks_nobody_gives_no_keys() {
    let server = crate::server::Server::start();
    let said = server.says(&["operator", "api-key", "create", "--name", "x", "--role", "admin"]);
    assert!(said.contains("asks for no credentials"), "{said}");
}
