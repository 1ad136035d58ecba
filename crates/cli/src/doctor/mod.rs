//! `perennial doctor`: health checks.

mod clock;
mod credentials;
mod findings;
mod schedules;
mod server;
mod workers;
mod workflows;

use std::time::Instant;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use perennial_proto::perennial::DescribeServerResponse;
use perennial_proto::temporal::operatorservice::v1::ListSearchAttributesRequest;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeNamespaceRequest, GetSystemInfoRequest,
};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;

use self::findings::{Finding, Findings, counted};
use crate::client::{Client, ConnectionArgs, Environment, Settings};
use crate::failure::{Exit, ExitError};
use crate::output::{Column, Output, Row, distance};
use crate::session::{self, GlobalArgs};
use crate::terminal::Style;

/// Service name in health checks, the same as Temporal's SDKs use.
const WORKFLOW_SERVICE: &str = "temporal.api.workflowservice.v1.WorkflowService";

/// Check the server, schedules, workflows, workers and clock for problems
///
/// Changes nothing. Exits with 0 unless a check fails.
///
/// With the role read on the whole server it also checks the server itself: its disk, how long commits take, whether
/// timers and schedules are on time, damaged rows, certificates, API keys and issuers of tokens, and task queues that
/// no worker polls, in all namespaces.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: ConnectionArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial doctor
  perennial doctor --address perennial.example:7233 --tls --output json
"#;

/// Runs all checks and shows the findings.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let mut output = global.output();
    let timeout = global.config.command_timeout;
    session::block_on(timeout, async {
        let mut findings = Findings::default();
        let reached = check(args.connection, global, &mut findings).await;
        write(&findings, &mut output)?;
        output.flush()?;
        reached?;
        match findings.failed() {
            0 => Ok(()),
            count => Err(ExitError {
                exit: Exit::Failed,
                message: format!("{count} of {} checks failed", findings.all.len()),
            }
            .into()),
        }
    })
}

async fn check(
    connection: ConnectionArgs,
    global: &GlobalArgs,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let settings = Settings::resolve(connection, &global.config, &Environment::of_process())?;
    let how = if settings.tls.is_some() { "with TLS" } else { "without TLS" };
    findings
        .good("settings", format!("{}, namespace {}, {how}", settings.address, settings.namespace));
    let began = Instant::now();
    let client = Client::connect(settings, global.config.client_connect_timeout).await?;
    findings.good("connection", format!("opened in {:.1?}", began.elapsed()));
    let server = server::describe(&client, findings).await;
    health(&client, server.as_ref(), findings).await;
    if let Some(server) = &server {
        server::check(server, findings);
    }
    namespace(&client, findings).await;
    search_attributes(&client, findings).await;
    clock::check(&client, findings).await;
    workflows::check(&client, findings).await;
    let schedules = schedules::check(&client, findings).await;
    workers::check(&client, &schedules, findings).await;
    Ok(())
}

async fn health(client: &Client, server: Option<&DescribeServerResponse>, findings: &mut Findings) {
    let reason = server.map_or("", |server| server.not_ready_reason.as_str());
    let request = HealthCheckRequest { service: WORKFLOW_SERVICE.to_owned() };
    match client.health().check(request).await {
        // It changes a moment after the reason does.
        Ok(_) if !reason.is_empty() => {
            findings.bad("health", format!("the server takes no requests: {reason}"));
        }
        Ok(answer) if answer.get_ref().status() == ServingStatus::Serving => {
            findings.good("health", "serving");
        }
        Ok(answer) => {
            let status = answer.get_ref().status().as_str_name().to_lowercase();
            findings.bad("health", format!("the server reports {status}; see its log"));
        }
        Err(status) => findings.request_failed("health", &status, "see the server's log"),
    }
    let began = Instant::now();
    match client.workflow().get_system_info(GetSystemInfoRequest::default()).await {
        Ok(answer) => {
            let took = began.elapsed();
            let version = &answer.get_ref().server_version;
            let version = match server {
                Some(it) => format!("Perennial {}, API version {version}", it.version),
                None => format!("API version {version}"),
            };
            findings.good("server", format!("{version}, responds in {took:.1?}"));
        }
        Err(status) => {
            findings.request_failed("server", &status, "is it a Temporal or Perennial server?")
        }
    }
}

async fn namespace(client: &Client, findings: &mut Findings) {
    let request = DescribeNamespaceRequest {
        namespace: client.namespace.clone(),
        ..DescribeNamespaceRequest::default()
    };
    let name = &client.namespace;
    match client.workflow().describe_namespace(request).await {
        Ok(_) => findings.good("namespace", format!("{name} exists")),
        Err(status) => findings.request_failed(
            "namespace",
            &status,
            &format!(
                "create it with `perennial operator namespace create {name}`, or choose another with --namespace"
            ),
        ),
    }
}

async fn search_attributes(client: &Client, findings: &mut Findings) {
    let request = ListSearchAttributesRequest { namespace: client.namespace.clone() };
    match client.operator().list_search_attributes(request).await {
        Ok(answer) => {
            let own = answer.get_ref().custom_attributes.len();
            let own = counted(i64::try_from(own).unwrap_or(i64::MAX), "custom search attribute");
            findings.good("search attributes", own);
        }
        Err(status) => {
            findings.request_failed("search attributes", &status, "does this server support them?")
        }
    }
}

/// The time from one instant to a later one: `2 d 3 h`.
fn left(from: Timestamp, to: Timestamp) -> String {
    let zoned = |time: Timestamp| time.to_zoned(TimeZone::UTC);
    distance(&zoned(from), &zoned(to))
}

fn write(findings: &Findings, output: &mut Output) -> anyhow::Result<()> {
    let columns = vec![Column::new("Check"), Column::new(""), Column::new("Found")];
    let mut list = output.list(columns);
    for finding in &findings.all {
        list.push_record(finding, |_| row(finding))?;
    }
    list.finish()?;
    Ok(())
}

fn row(finding: &Finding) -> Row {
    let style = match finding.result {
        findings::CheckResult::Good => Style::Plain,
        findings::CheckResult::Remark | findings::CheckResult::Bad => Style::Warning,
    };
    let result = finding.result.name().to_owned();
    Row::from([finding.check.to_owned(), result, finding.details.clone()]).styled(style)
}
