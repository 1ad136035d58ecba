//! `perennial schedule list`.

use perennial_proto::temporal::workflowservice::v1::ListSchedulesRequest;

use crate::output::{Column, instant};
use crate::session::Session;

/// List schedules
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(_: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = ListSchedulesRequest {
        namespace: session.client.namespace.clone(),
        maximum_page_size: 100,
        ..Default::default()
    };
    let answer = session.client.workflow().list_schedules(request).await?.into_inner();
    let mut list = session.output.list(vec![Column::new("Schedule"), Column::new("Next")]);
    for entry in &answer.schedules {
        list.push(entry, |times| {
            let next = entry.info.as_ref().and_then(|info| info.future_action_times.first());
            [entry.schedule_id.clone(), times.show(instant(next))]
        })?;
    }
    list.finish()?;
    Ok(())
}
