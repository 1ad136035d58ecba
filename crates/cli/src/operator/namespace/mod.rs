//! `perennial operator namespace`.

mod create;
mod delete;
mod describe;
mod list;
mod settings;
mod update;

use clap::Subcommand;

use crate::session::Session;

/// Manage namespaces
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(visible_alias = "register")]
    Create(create::Args),
    Describe(describe::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    Update(update::Args),
    Delete(delete::Args),
}

const EXAMPLES: &str = r#"Examples:
  perennial operator namespace create --namespace shop --retention 30d
  perennial operator namespace list
"#;

/// A namespace as a positional argument; otherwise the one given by `--namespace`.
#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Namespace [default: the one given by --namespace]
    #[arg(value_name = "NAMESPACE")]
    name: Option<String>,
}

impl NameArgs {
    fn get(&self, session: &Session) -> String {
        self.name.clone().unwrap_or_else(|| session.client.namespace.clone())
    }
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.command {
        Command::Create(args) => create::run(args, session).await,
        Command::Describe(args) => describe::run(args, session).await,
        Command::List(args) => list::run(args, session).await,
        Command::Update(args) => update::run(args, session).await,
        Command::Delete(args) => delete::run(args, session).await,
    }
}
