//! `perennial operator namespace update`.

use clap::ValueEnum;
use perennial_proto::temporal::enums::v1::ReplicationState;
use perennial_proto::temporal::namespace::v1::{NamespaceConfig, UpdateNamespaceInfo};
use perennial_proto::temporal::replication::v1::NamespaceReplicationConfig;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeNamespaceRequest, UpdateNamespaceRequest,
};

use super::NameArgs;
use super::settings::{Archival, SettingsArgs};
use crate::session::Session;

/// Change a namespace; everything not given stays as it is
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    name: NameArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Replicate it to other clusters from now on
    #[arg(long, conflicts_with = "active_cluster", hide_short_help = true)]
    promote_global: bool,

    /// Replication state
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true, hide_short_help = true)]
    replication_state: Option<Replication>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Replication {
    Normal,
    Handover,
}

const EXAMPLES: &str = r#"Examples:
  perennial operator namespace update shop --retention 60d
  perennial operator namespace update shop --data team=orders
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let name = args.name.get(session);
    let mut service = session.client.workflow();
    let request = match (args.promote_global, args.settings.active_cluster.clone()) {
        (true, _) => UpdateNamespaceRequest {
            namespace: name.clone(),
            promote_namespace: true,
            ..UpdateNamespaceRequest::default()
        },
        (false, Some(active_cluster_name)) => UpdateNamespaceRequest {
            namespace: name.clone(),
            replication_config: Some(NamespaceReplicationConfig {
                active_cluster_name,
                ..NamespaceReplicationConfig::default()
            }),
            ..UpdateNamespaceRequest::default()
        },
        (false, None) => {
            let request =
                DescribeNamespaceRequest { namespace: name.clone(), ..Default::default() };
            let present = service.describe_namespace(request).await?.into_inner();
            let info = present.namespace_info.unwrap_or_default();
            let config = present.config.unwrap_or_default();
            let settings = args.settings;
            let state = match args.replication_state {
                None => ReplicationState::Unspecified,
                Some(Replication::Normal) => ReplicationState::Normal,
                Some(Replication::Handover) => ReplicationState::Handover,
            };
            UpdateNamespaceRequest {
                namespace: name.clone(),
                config: Some(NamespaceConfig {
                    workflow_execution_retention_ttl: settings
                        .retention()?
                        .or(config.workflow_execution_retention_ttl),
                    history_archival_state: Archival::code(settings.history_archival_state),
                    history_archival_uri: settings.history_uri.clone().unwrap_or_default(),
                    visibility_archival_state: Archival::code(settings.visibility_archival_state),
                    visibility_archival_uri: settings.visibility_uri.clone().unwrap_or_default(),
                    ..NamespaceConfig::default()
                }),
                replication_config: Some(NamespaceReplicationConfig {
                    clusters: settings.clusters(),
                    state: state.into(),
                    ..NamespaceReplicationConfig::default()
                }),
                update_info: Some(UpdateNamespaceInfo {
                    description: settings.description.unwrap_or(info.description),
                    owner_email: settings.email.unwrap_or(info.owner_email),
                    data: settings.data.into_iter().collect(),
                    ..UpdateNamespaceInfo::default()
                }),
                ..UpdateNamespaceRequest::default()
            }
        }
    };
    let answer = service.update_namespace(request).await?.into_inner();
    session
        .output
        .message(&answer, |output| Ok(output.line(format!("Namespace {name} update succeeded."))?))
}
