//! `perennial operator`.

mod cluster;
mod namespace;
mod search_attribute;

use clap::Subcommand;

use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};
use crate::unsupported::{UnsupportedArgs, unsupported};

/// Manage namespaces and search attributes, check the server
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
    #[command(hide = true)]
    Nexus(UnsupportedArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial operator namespace create --namespace shop --retention 30d
  perennial operator search-attribute create --name Customer --type Keyword
  perennial operator cluster health
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
    session::run(global, connection, async |session| match command {
        Command::Namespace(args) => namespace::run(args, session).await,
        Command::SearchAttribute(args) => search_attribute::run(args, session).await,
        Command::Cluster(args) => cluster::run(args, session).await,
        Command::Nexus(_) => Err(unsupported(
            "Nexus endpoints",
            "use a client to reach workflows in another namespace",
        )),
    })
}

/// Runs a `namespace` command.
pub(crate) fn run_namespace(args: NamespaceArgs, global: &GlobalArgs) -> anyhow::Result<()> {
    let NamespaceArgs { namespace, connection } = args;
    session::run(global, connection, async |session| namespace::run(namespace, session).await)
}
