//! `perennial operator namespace describe`.

use perennial_proto::temporal::workflowservice::v1::{
    DescribeNamespaceRequest, DescribeNamespaceResponse,
};

use super::NameArgs;
use crate::output::{Card, duration, short_name};
use crate::session::Session;

/// Show a namespace
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    name: NameArgs,

    /// Namespace id, instead of its name
    #[arg(long, value_name = "ID", conflicts_with = "name")]
    namespace_id: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial operator namespace describe shop
  perennial operator namespace describe --namespace-id 32049b68-7872-4094-8e63-d0dd59896a83
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = match args.namespace_id {
        Some(id) => DescribeNamespaceRequest { id, ..DescribeNamespaceRequest::default() },
        None => DescribeNamespaceRequest {
            namespace: args.name.get(session),
            ..DescribeNamespaceRequest::default()
        },
    };
    let answer = session.client.workflow().describe_namespace(request).await?.into_inner();
    session.output.message(&answer, |output| Ok(output.card(&card(&answer))?))
}

fn card(namespace: &DescribeNamespaceResponse) -> Card {
    let info = namespace.namespace_info.clone().unwrap_or_default();
    let config = namespace.config.clone().unwrap_or_default();
    let replication = namespace.replication_config.clone().unwrap_or_default();
    let mut data: Vec<String> = info.data.iter().map(|(k, v)| format!("{k}={v}")).collect();
    data.sort();
    let mut aliases: Vec<String> =
        config.custom_search_attribute_aliases.iter().map(|(k, v)| format!("{v} ({k})")).collect();
    aliases.sort();
    let archival = |state: &str| short_name(state, "ARCHIVAL_STATE_");
    let mut card = Card::default();
    card.field("Name", info.name.clone())
        .field("Id", info.id.clone())
        .field("Description", info.description.clone())
        .field("OwnerEmail", info.owner_email.clone())
        .field("State", state_name(namespace))
        .field("Retention", duration(config.workflow_execution_retention_ttl.as_ref()))
        .field("Data", data.join("\n"))
        .field("SearchAttributes", aliases.join("\n"))
        .field("ActiveCluster", replication.active_cluster_name)
        .field("HistoryArchival", archival(config.history_archival_state().as_str_name()))
        .field("VisibilityArchival", archival(config.visibility_archival_state().as_str_name()));
    card
}

/// `Registered`, `Deleted`.
pub(super) fn state_name(namespace: &DescribeNamespaceResponse) -> String {
    let info = namespace.namespace_info.clone().unwrap_or_default();
    short_name(info.state().as_str_name(), "NAMESPACE_STATE_")
}
