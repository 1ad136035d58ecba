//! `perennial operator namespace delete`.

use perennial_proto::temporal::operatorservice::v1::DeleteNamespaceRequest;

use super::NameArgs;
use crate::confirm::confirm_name;
use crate::session::Session;

/// Delete a namespace with all its workflows and schedules
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator namespace delete shop\n")]
pub(super) struct Args {
    #[command(flatten)]
    name: NameArgs,

    /// Don't ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let name = args.name.get(session);
    let question = format!("Delete the namespace {name} with all its workflows and schedules?");
    confirm_name(&question, &name, args.yes, &mut session.output)?;
    let request =
        DeleteNamespaceRequest { namespace: name.clone(), ..DeleteNamespaceRequest::default() };
    let answer = session.client.operator().delete_namespace(request).await?.into_inner();
    session
        .output
        .message(&answer, |output| Ok(output.line(format!("Namespace {name} has been deleted."))?))
}
