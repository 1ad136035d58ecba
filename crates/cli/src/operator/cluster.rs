//! `perennial operator cluster`.

use clap::Subcommand;
use perennial_proto::temporal::operatorservice::v1::ListClustersRequest;
use perennial_proto::temporal::workflowservice::v1::{GetClusterInfoRequest, GetSystemInfoRequest};
use serde::Serialize;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;

use crate::failure::{Exit, ExitError};
use crate::output::{Card, Column, Row};
use crate::session::Session;
use crate::unsupported::{UnsupportedArgs, unsupported};

/// Service name in health checks, the same as Temporal's SDKs use.
const WORKFLOW_SERVICE: &str = "temporal.api.workflowservice.v1.WorkflowService";

/// Show the server's health, version and capabilities
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the server's health
    #[command(after_help = "Examples:\n  perennial operator cluster health\n")]
    Health,
    Describe(DescribeArgs),
    /// Show the server's version and capabilities
    #[command(after_help = "Examples:\n  perennial operator cluster system -o json\n")]
    System,
    List(ListArgs),
    #[command(hide = true, alias = "remove")]
    Upsert(UnsupportedArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial operator cluster health
  perennial operator cluster describe --detail
"#;

/// Show the cluster: name, id, store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct DescribeArgs {
    /// Also show its version and shards
    #[arg(long)]
    detail: bool,
}

/// List clusters (Perennial has one)
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator cluster list\n")]
struct ListArgs {
    /// Show at most this many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.command {
        Command::Health => health(session).await,
        Command::Describe(args) => describe(args, session).await,
        Command::System => system(session).await,
        Command::List(args) => list(args, session).await,
        Command::Upsert(_) => Err(unsupported("remote clusters", "a server is its only cluster")),
    }
}

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
struct Health {
    status: &'static str,
}

async fn health(session: &mut Session) -> anyhow::Result<()> {
    let request = HealthCheckRequest { service: WORKFLOW_SERVICE.to_owned() };
    let status = session.client.health().check(request).await?.into_inner().status();
    if status != ServingStatus::Serving {
        let message = format!("the server reports {}", status.as_str_name());
        return Err(ExitError { exit: Exit::Unreachable, message }.into());
    }
    let health = Health { status: "SERVING" };
    session.output.record(&health, |output| Ok(output.line(health.status)?))
}

async fn describe(args: DescribeArgs, session: &mut Session) -> anyhow::Result<()> {
    let request = GetClusterInfoRequest {};
    let answer = session.client.workflow().get_cluster_info(request).await?.into_inner();
    session.output.message(&answer, |output| {
        let mut card = Card::default();
        card.field("ClusterName", answer.cluster_name.clone())
            .field("PersistenceStore", answer.persistence_store.clone())
            .field("VisibilityStore", answer.visibility_store.clone());
        if args.detail {
            card.field("ServerVersion", answer.server_version.clone())
                .field("ClusterId", answer.cluster_id.clone())
                .field("HistoryShardCount", answer.history_shard_count.to_string());
        }
        Ok(output.card(&card)?)
    })
}

async fn system(session: &mut Session) -> anyhow::Result<()> {
    let request = GetSystemInfoRequest {};
    let answer = session.client.workflow().get_system_info(request).await?.into_inner();
    session.output.message(&answer, |output| {
        let can = answer.capabilities.unwrap_or_default();
        let yes = |can: bool| if can { "yes" } else { "no" };
        let mut card = Card::default();
        card.field("ServerVersion", answer.server_version.clone())
            .field("SupportsSchedules", yes(can.supports_schedules))
            .field("UpsertMemo", yes(can.upsert_memo))
            .field("EagerWorkflowStart", yes(can.eager_workflow_start));
        Ok(output.card(&card)?)
    })
}

async fn list(args: ListArgs, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let columns = ["Name", "ClusterId", "Address", "HistoryShardCount"].map(Column::new);
    let more = ["IsConnectionEnabled", "IsReplicationEnabled"].map(Column::if_room);
    let mut list = session.output.list(columns.into_iter().chain(more).collect());
    let mut next_page_token = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let request = ListClustersRequest { next_page_token, ..ListClustersRequest::default() };
        let page = client.operator().list_clusters(request).await?.into_inner();
        for cluster in page.clusters.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            list.push(cluster, |_| {
                Row::from([
                    cluster.cluster_name.clone(),
                    cluster.cluster_id.clone(),
                    cluster.address.clone(),
                    cluster.history_shard_count.to_string(),
                    cluster.is_connection_enabled.to_string(),
                    cluster.is_replication_enabled.to_string(),
                ])
            })?;
            left -= 1;
        }
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    list.finish()?;
    Ok(())
}
