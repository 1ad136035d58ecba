//! `perennial operator`.

mod api_key;
mod cluster;
mod log_levels;
mod namespace;
mod search_attribute;

use clap::Subcommand;

use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};
use crate::unsupported::{UnsupportedArgs, unsupported};

/// Manage namespaces, search attributes and API keys, check the server
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Namespace(namespace::Args),
    SearchAttribute(search_attribute::Args),
    Cluster(cluster::Args),
    ApiKey(api_key::Args),
    LogLevels(log_levels::Args),
    #[command(hide = true)]
    Nexus(UnsupportedArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial operator namespace create --namespace shop --retention 30d
  perennial operator search-attribute create --name Customer --type Keyword
  perennial operator cluster health
  perennial operator api-key create --name ci --role worker --namespace default
"#;

/// `perennial namespace`, as in tctl: the same as `perennial operator namespace`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct NamespaceArgs {
    #[command(flatten)]
    namespace: namespace::Args,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs an `operator` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    match command {
        Command::Namespace(args) => {
            session::run(global, connection, async |session| namespace::run(args, session).await)
        }
        Command::SearchAttribute(args) => session::run(global, connection, async |session| {
            search_attribute::run(args, session).await
        }),
        Command::Cluster(args) => {
            session::run(global, connection, async |session| cluster::run(args, session).await)
        }
        Command::ApiKey(args) => api_key::run(args, connection, global),
        Command::LogLevels(args) => {
            session::run(global, connection, async |session| log_levels::run(args, session).await)
        }
        Command::Nexus(_) => Err(unsupported(
            "Nexus endpoints",
            "use a client to reach workflows in another namespace",
        )),
    }
}

/// Runs a `namespace` command.
pub(crate) fn run_namespace(args: NamespaceArgs, global: &GlobalArgs) -> anyhow::Result<()> {
    let NamespaceArgs { namespace, connection } = args;
    session::run(global, connection, async |session| namespace::run(namespace, session).await)
}
