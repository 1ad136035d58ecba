//! Limits of namespaces and principals.

use std::fs;

use perennial_proto::temporal::workflowservice::v1::DescribeNamespaceRequest;
use prost::Message;
use tonic::Code;

use super::secured_server::{SecuredServer, call, code};

const LIMITS: &str = "
    [limits.namespaces.shop]
    requests_per_second = 3
    [limits.principal]
    connections = 1
";

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_of_one_namespace_and_one_principal() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("perennial.toml");
    fs::write(&settings, LIMITS).unwrap();
    let server = SecuredServer::start_with(&["--config", settings.to_str().unwrap()]);
    let (key, other) = (server.issuer.token(&["*:read"]), server.api_key("other", "*:read"));
    let channel = server.channel().await;
    let path = "/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace";
    let describe = |namespace: &str| {
        let namespace = namespace.to_owned();
        DescribeNamespaceRequest { namespace, ..Default::default() }.encode_to_vec().into()
    };
    let mut refused = None;
    for _ in 0..1_000 {
        refused = call(&channel, path, Some(&key), describe("shop")).await.err();
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("more calls than a second allows are refused");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("3 calls a second"), "{}", refused.message());
    assert!(refused.metadata().contains_key("grpc-retry-pushback-ms"));
    let elsewhere = call(&channel, path, Some(&key), describe("bank")).await;
    assert_eq!(code(&elsewhere), Code::Ok);

    // The first connection of a principal is held, a second one is refused.
    assert_eq!(code(&call(&channel, path, Some(&other), describe("bank")).await), Code::Ok);
    let second = server.channel().await;
    let refused = call(&second, path, Some(&other), describe("bank")).await;
    assert_eq!(code(&refused), Code::ResourceExhausted);
}

#[test]
fn namespace_has_at_most_so_many_schedules() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("perennial.toml");
    fs::write(&settings, "limits.namespaces.bank.schedules = 1").unwrap();
    let server = SecuredServer::start_with(&["--config", settings.to_str().unwrap()]);
    let create = |id| {
        let cron = ["--cron", "0 2 * * *", "--type", "Report", "--task-queue", "main"];
        crate::perennial::perennial(&["schedule", "create", id, "--namespace", "bank"])
            .args(cron)
            .args(["--address", &server.address, "--tls=false", "--api-key", &server.admin_key])
            .output()
            .unwrap()
    };
    assert!(create("first").status.success());
    let refused = create("second");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("has 1 schedules, as many as it may have"), "{said}");
}
