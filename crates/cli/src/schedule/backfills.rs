//! `perennial schedule list-backfills` and `cancel-backfill`.

use perennial_proto::perennial::{
    Backfill, CancelBackfillRequest, CancelBackfillResponse, ListBackfillsRequest,
};

use super::id::ScheduleIdArgs;
use super::only_perennial;
use crate::client::Client;
use crate::failure::{Ends, Exit};
use crate::output::{Column, Row, Times, instant, thousands};
use crate::session::Session;

/// List the backfills of a schedule, and how far they have come
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial schedule list-backfills payroll\n")]
pub(super) struct ListArgs {
    #[command(flatten)]
    id: ScheduleIdArgs,
}

/// Cancel a backfill: what it hasn't started yet isn't started
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial schedule cancel-backfill payroll --backfill-id 1\n")]
pub(super) struct CancelArgs {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Its number, as `list-backfills` shows it
    #[arg(long, value_name = "N")]
    backfill_id: i64,
}

pub(super) async fn list(args: ListArgs, session: &mut Session) -> anyhow::Result<()> {
    let backfills = all(&session.client, &args.id.get()?).await?;
    let columns = vec![
        Column::new("Id"),
        Column::new("From"),
        Column::new("To"),
        Column::new("State"),
        Column::new("Started"),
        Column::new("Skipped"),
        Column::if_room("Created"),
    ];
    let mut list = session.output.list(columns);
    for backfill in &backfills {
        list.push(backfill, |times| row(backfill, times))?;
    }
    if list.finish()? == 0 {
        session.output.remark("it has no backfills")?;
    }
    Ok(())
}

pub(super) async fn cancel(args: CancelArgs, session: &mut Session) -> anyhow::Result<()> {
    let request = CancelBackfillRequest {
        namespace: session.client.namespace.clone(),
        schedule_id: args.id.get()?,
        backfill_id: args.backfill_id,
    };
    session.client.schedules().cancel_backfill(request).await.map_err(only_perennial)?;
    session.output.message(&CancelBackfillResponse {}, |output| {
        Ok(output.line(format!("Canceled backfill {}", args.backfill_id))?)
    })
}

/// One of them.
pub(super) async fn find(client: &Client, id: &str, backfill_id: i64) -> anyhow::Result<Backfill> {
    let found = all(client, id).await?.into_iter().find(|it| it.backfill_id == backfill_id);
    let gone = || Ends {
        with: Exit::NotFound,
        message: format!("the backfill {backfill_id} is no longer there"),
    };
    Ok(found.ok_or_else(gone)?)
}

/// A backfill in a line.
pub(super) fn line(backfill: &Backfill, times: &Times) -> String {
    let count = |n: i64| thousands(n.unsigned_abs());
    let (started, skipped) = (count(backfill.started_count), count(backfill.skipped_count));
    let state = state(backfill);
    let up_to = instant(backfill.planned_up_to.as_ref()).map(|time| times.clock(time));
    let up_to = up_to.map(|time| format!(" up to {time}")).unwrap_or_default();
    format!(
        "Backfill {} is {state}{up_to}: {started} started, {skipped} skipped",
        backfill.backfill_id
    )
}

async fn all(client: &Client, id: &str) -> anyhow::Result<Vec<Backfill>> {
    let request =
        ListBackfillsRequest { namespace: client.namespace.clone(), schedule_id: id.to_owned() };
    let response = client.schedules().list_backfills(request).await;
    Ok(response.map_err(only_perennial)?.into_inner().backfills)
}

fn state(backfill: &Backfill) -> &'static str {
    match (backfill.canceled, backfill.finished_at.is_some()) {
        (true, _) => "canceled",
        (false, true) => "done",
        (false, false) => "under way",
    }
}

fn row(backfill: &Backfill, times: &Times) -> Row {
    let clock = |time: &Option<perennial_proto::Timestamp>| {
        instant(time.as_ref()).map(|time| times.clock(time)).unwrap_or_default()
    };
    Row::from([
        backfill.backfill_id.to_string(),
        clock(&backfill.start_time),
        clock(&backfill.end_time),
        state(backfill).to_owned(),
        thousands(backfill.started_count.unsigned_abs()),
        thousands(backfill.skipped_count.unsigned_abs()),
        times.show(instant(backfill.created_at.as_ref())),
    ])
}
