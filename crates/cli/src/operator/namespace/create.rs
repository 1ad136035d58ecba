//! `perennial operator namespace create`.

use std::time::Duration;

use perennial_proto::temporal::workflowservice::v1::RegisterNamespaceRequest;

use super::NameArgs;
use super::settings::{Archival, SettingsArgs};
use crate::session::Session;

/// Default retention, the same as in Temporal's command line.
const RETENTION: Duration = Duration::from_secs(72 * 3_600);

/// Create a namespace
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    name: NameArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Replicate it to other clusters
    #[arg(long, alias = "global-namespace", hide_short_help = true)]
    global: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial operator namespace create shop --retention 30d --description "orders and carts"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let name = args.name.get(session);
    let mut settings = args.settings;
    settings.retention.get_or_insert(RETENTION);
    let request = RegisterNamespaceRequest {
        namespace: name.clone(),
        workflow_execution_retention_period: settings.retention()?,
        clusters: settings.clusters(),
        description: settings.description.unwrap_or_default(),
        owner_email: settings.email.unwrap_or_default(),
        active_cluster_name: settings.active_cluster.unwrap_or_default(),
        data: settings.data.into_iter().collect(),
        is_global_namespace: args.global,
        history_archival_state: Archival::code(settings.history_archival_state),
        history_archival_uri: settings.history_uri.unwrap_or_default(),
        visibility_archival_state: Archival::code(settings.visibility_archival_state),
        visibility_archival_uri: settings.visibility_uri.unwrap_or_default(),
        ..RegisterNamespaceRequest::default()
    };
    session.client.workflow().register_namespace(request).await?;
    session.output.success(format!("Namespace {name} successfully registered."))
}
