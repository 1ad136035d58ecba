//! `perennial cluster list`.

use std::collections::HashMap;

use perennial_proto::Duration;
use perennial_proto::perennial::{
    ClusterCell, ClusterCellState, ClusterNode, DescribeClusterRequest, DescribeClusterResponse,
};

use crate::output::{Column, Output, Row, Times, duration, instant};
use crate::session::Session;
use crate::terminal::Style;

/// List the servers that share the database, and the cells that each of them owns
///
/// A cell is a range of the 16,384 slots among which workflows and schedules are divided. Its owner serves them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  perennial cluster list\n  perennial cluster list --output json\n"
)]
pub(super) struct Args {}

pub(super) async fn run(session: &mut Session) -> anyhow::Result<()> {
    let request = DescribeClusterRequest {};
    let cluster = session.client.admin().describe_cluster(request).await?.into_inner();
    session.output.message(&cluster, |output| write_text(&cluster, output))
}

fn write_text(cluster: &DescribeClusterResponse, output: &mut Output) -> anyhow::Result<()> {
    if cluster.time.is_none() {
        return Ok(output.line("This server has no cluster: it works alone on its database.")?);
    }
    let times = output.times.clone();
    output.line(output.look.paint(Style::Heading, "Nodes"))?;
    let columns = ["Id", "Address", "State", "Cells", "Lease left"].map(Column::new);
    let more = ["Started", "Version", "Protocol"].map(Column::if_room);
    let rows = cluster.nodes.iter().map(|node| node_row(node, &times));
    output.table(columns.into_iter().chain(more).collect(), rows)?;

    output.line(format!("\n{}", output.look.paint(Style::Heading, "Cells")))?;
    let addresses = cluster.nodes.iter().map(|node| (node.id.as_str(), node.address.as_str()));
    let addresses: HashMap<_, _> = addresses.collect();
    let columns = ["Slots", "Owner", "State", "Epoch", "Last batch"].map(Column::new);
    let rows = cluster.cells.iter().map(|cell| cell_row(cell, &addresses));
    output.table(columns.to_vec(), rows)?;
    if let Some(this) = cluster.nodes.iter().find(|node| node.is_this_node) {
        output.note(format!("The node at {} answered.", this.address))?;
    }
    Ok(())
}

fn node_row(node: &ClusterNode, times: &Times) -> Row {
    let left = node.lease_left.unwrap_or_default();
    let has_lease = (left.seconds, left.nanos) > (0, 0);
    // Microseconds would only distract.
    let left = Duration { nanos: left.nanos - left.nanos % 1_000_000, ..left };
    let (state, style) = match (has_lease, node.is_leaving) {
        (false, _) => ("lease has ended", Style::Warning),
        (true, true) => ("leaving", Style::Warning),
        (true, false) => ("serving", Style::Plain),
    };
    let row = Row::from([
        node.id.clone(),
        node.address.clone(),
        state.to_owned(),
        node.cells.to_string(),
        duration(Some(&left)),
        times.show(instant(node.started_at.as_ref())),
        node.version.clone(),
        node.protocol.to_string(),
    ]);
    row.styled(style)
}

/// The owner by its address, or by its id if it isn't registered any more.
fn cell_row(cell: &ClusterCell, addresses: &HashMap<&str, &str>) -> Row {
    let (state, style) = match cell.state() {
        ClusterCellState::Owned => ("owned", Style::Plain),
        ClusterCellState::Unowned => ("unowned", Style::Warning),
        ClusterCellState::LeaseEnded => ("owner's lease has ended", Style::Warning),
        ClusterCellState::Unspecified => ("unknown", Style::Plain),
    };
    let owner = addresses.get(cell.owner.as_str()).copied().unwrap_or(&cell.owner);
    let row = Row::from([
        format!("{}-{}", cell.first_slot, cell.last_slot),
        owner.to_owned(),
        state.to_owned(),
        cell.epoch.to_string(),
        cell.last_batch.to_string(),
    ]);
    row.styled(style)
}
