//! What happens when the files change.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use perennial_proto::temporal::common::v1::WorkflowType;
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeTaskQueueRequest, PollWorkflowTaskQueueRequest, StartWorkflowExecutionRequest,
};
use perennial_server::{CertificateFiles, Tls, TlsConfig, TlsError};
use tempfile::tempdir;
use tonic::transport::Channel;

use super::authority::{Authority, params, replace};
use super::test_server::{Client, TestServer, call};

/// The certificate that the server presents.
async fn served(client: &Client, server: &TestServer) -> Vec<u8> {
    let stream = client.connect(server.grpc, "localhost").await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotation_under_load_fails_no_call() {
    const ROTATIONS: usize = 10;
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let clients = Authority::new(folder.path(), "clients");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![clients.bundle("clients.pem", &[])],
        ..TlsConfig::default()
    };
    let server = Arc::new(TestServer::new(config).await);
    let client = Client::new(&ca, Some(&clients.client("worker")));
    let long_lived = client.channel(&server).await.unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (client, server) = (client.clone(), Arc::clone(&server));
            let is_done = Arc::clone(&is_done);
            tokio::spawn(async move {
                let mut calls = 0;
                while !is_done.load(Ordering::Relaxed) {
                    client.call(&server).await.unwrap();
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    for _ in 0..ROTATIONS {
        let before = served(&client, &server).await;
        ca.server("server", &["localhost"]);
        assert_eq!(server.tls.reload(), Ok(true));
        assert_ne!(served(&client, &server).await, before);
        call(long_lived.clone()).await.unwrap();
    }
    is_done.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(caller.await.unwrap() > 0);
    }
}

#[tokio::test]
async fn server_notices_new_files_by_itself() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![ca.server("server", &["localhost"])];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let client = Client::new(&ca, None);
    let before = served(&client, &server).await;
    ca.server("server", &["localhost"]);
    while served(&client, &server).await == before {}
    server.stop().await;
}

#[test]
fn swapped_link_is_followed() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    for version in ["..1", "..2"] {
        fs::create_dir(folder.path().join(version)).unwrap();
        ca.server(&format!("{version}/server"), &["localhost"]);
    }
    // As in a Kubernetes volume: the files are links into `..data`, which is a link to the version.
    let link = |version: &str| {
        symlink(version, folder.path().join("..new")).unwrap();
        fs::rename(folder.path().join("..new"), folder.path().join("..data")).unwrap();
    };
    link("..1");
    let files = |name: &str| {
        symlink(Path::new("..data").join(name), folder.path().join(name)).unwrap();
        folder.path().join(name)
    };
    let certificates =
        vec![CertificateFiles { certificate: files("server.pem"), key: files("server.key") }];
    let tls = Tls::load(TlsConfig { certificates, ..TlsConfig::default() }).unwrap();
    assert_eq!(tls.reload(), Ok(false));
    link("..2");
    assert_eq!(tls.reload(), Ok(true));
    assert_eq!(tls.reload(), Ok(false));
}

#[tokio::test]
async fn bad_new_files_leave_the_old_ones_in_use() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let files = ca.server("server", &["localhost"]);
    let certificates = vec![files.clone()];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let client = Client::new(&ca, None);
    let before = served(&client, &server).await;

    let other = ca.server("other", &["localhost"]);
    let mismatch =
        TlsError::KeyMismatch { certificate: files.certificate.clone(), key: files.key.clone() };
    let key = fs::read_to_string(&files.key).unwrap();
    replace(&files.key, &fs::read_to_string(&other.key).unwrap());
    assert_eq!(server.tls.reload(), Err(mismatch));
    replace(&files.key, &key);
    assert_eq!(server.tls.reload(), Ok(false));

    let mut expired = params("server");
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    ca.issue(&expired).write(folder.path(), "server");
    assert!(matches!(server.tls.reload(), Err(TlsError::Expired { .. })));
    fs::remove_file(&files.certificate).unwrap();
    assert!(matches!(server.tls.reload(), Err(TlsError::Unreadable { .. })));
    assert_eq!(served(&client, &server).await, before);
}

fn queue() -> Option<TaskQueue> {
    Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() })
}

/// Waits for a task. Returns the id of its workflow and the number of the attempt.
async fn poll(channel: Channel) -> Result<(String, i32), tonic::Status> {
    let poll = PollWorkflowTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        identity: "worker".to_owned(),
        ..PollWorkflowTaskQueueRequest::default()
    };
    let task =
        WorkflowServiceClient::new(channel).poll_workflow_task_queue(poll).await?.into_inner();
    Ok((task.workflow_execution.unwrap_or_default().workflow_id, task.attempt))
}

/// Returns when a worker polls the queue.
async fn wait_for_poll(channel: Channel) {
    let mut client = WorkflowServiceClient::new(channel);
    loop {
        let describe = DescribeTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: queue(),
            task_queue_type: TaskQueueType::Workflow.into(),
            ..DescribeTaskQueueRequest::default()
        };
        let described = client.describe_task_queue(describe).await.unwrap().into_inner();
        if !described.pollers.is_empty() {
            return;
        }
    }
}

async fn start_workflow(channel: Channel, id: &str) {
    let start = StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: id.to_owned(),
        workflow_type: Some(WorkflowType { name: "Flow".to_owned() }),
        task_queue: queue(),
        request_id: id.to_owned(),
        ..StartWorkflowExecutionRequest::default()
    };
    WorkflowServiceClient::new(channel).start_workflow_execution(start).await.unwrap();
}

#[tokio::test]
async fn removal_of_a_ca_ends_the_connections_of_its_clients() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let kept = Authority::new(folder.path(), "kept");
    let removed = Authority::new(folder.path(), "removed");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![kept.bundle("clients.pem", &[&removed])],
        ..TlsConfig::default()
    };
    let server = TestServer::new(config).await;
    let revoked = Client::new(&ca, Some(&removed.client("worker")));
    let valid = Client::new(&ca, Some(&kept.client("worker")));
    let (ends, stays) =
        (revoked.channel(&server).await.unwrap(), valid.channel(&server).await.unwrap());
    call(ends.clone()).await.unwrap();
    call(stays.clone()).await.unwrap();
    let mut http = revoked.for_http().connect(server.http, "localhost").await.unwrap();
    let polling = tokio::spawn(poll(ends));
    wait_for_poll(stays.clone()).await;

    kept.bundle("clients.pem", &[]);
    assert_eq!(server.tls.reload(), Ok(true));
    polling.await.unwrap().unwrap_err();
    // The connection ends without another byte.
    let mut received = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut http, &mut received).await;
    assert_eq!(received, b"");
    assert!(revoked.call(&server).await.unwrap_err().contains("UnknownCA"));
    // The poll of the ended connection takes no task from a valid worker.
    start_workflow(stays.clone(), "flow").await;
    assert_eq!(poll(stays).await.unwrap(), ("flow".to_owned(), 1));
    server.stop().await;
}

#[tokio::test]
async fn expiry_of_a_client_certificate_ends_its_connection() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let clients = Authority::new(folder.path(), "clients");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![clients.bundle("clients.pem", &[])],
        ..TlsConfig::default()
    };
    let server = TestServer::new(config).await;
    let mut short_lived = params("worker");
    // Certificates count in seconds.
    let now = std::time::SystemTime::now();
    short_lived.not_after = (now + std::time::Duration::from_secs(3)).into();
    let client = Client::new(&ca, Some(&clients.issue(&short_lived)));
    let channel = client.channel(&server).await.unwrap();
    poll(channel).await.unwrap_err();
    let refused = client.call(&server).await.unwrap_err();
    // In its last second a handshake succeeds, but the principal has ended.
    let is_expired = refused.contains("CertificateExpired") || refused.contains("have expired");
    assert!(is_expired, "{refused}");
}
