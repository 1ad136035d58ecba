//! `perennial operator namespace list`.

use perennial_proto::temporal::workflowservice::v1::ListNamespacesRequest;

use super::describe::state_name;
use crate::output::{Column, Row, duration};
use crate::session::Session;

/// Namespaces per page.
const PAGE_SIZE: i32 = 100;

/// List namespaces
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator namespace list\n")]
pub(super) struct Args {}

pub(super) async fn run(_: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let columns = ["Name", "State", "Retention"].map(Column::new).into_iter();
    let more = ["Id", "Description", "OwnerEmail"].map(Column::if_room);
    let mut list = session.output.list(columns.chain(more).collect());
    let mut next_page_token = Vec::new();
    loop {
        let request = ListNamespacesRequest {
            page_size: PAGE_SIZE,
            next_page_token,
            ..ListNamespacesRequest::default()
        };
        let page = client.workflow().list_namespaces(request).await?.into_inner();
        for namespace in &page.namespaces {
            let info = namespace.namespace_info.clone().unwrap_or_default();
            let config = namespace.config.clone().unwrap_or_default();
            list.push(namespace, |_| {
                Row::from([
                    info.name,
                    state_name(namespace),
                    duration(config.workflow_execution_retention_ttl.as_ref()),
                    info.id,
                    info.description,
                    info.owner_email,
                ])
            })?;
        }
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    list.finish()?;
    Ok(())
}
