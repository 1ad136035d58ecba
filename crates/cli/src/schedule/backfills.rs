//! `perennial schedule list-backfills` and `cancel-backfill`.

use perennial_proto::perennial::{
    Backfill, BackfillOccurrence, CancelBackfillRequest, CancelBackfillResponse,
    ListBackfillOccurrencesRequest, ListBackfillOccurrencesResponse, ListBackfillsRequest,
};

use super::id_args::ScheduleIdArgs;
use super::only_perennial;
use super::wording::reason_in_words;
use crate::client::Client;
use crate::failure::{Exit, ExitError};
use crate::output::{Column, Row, Times, instant, thousands};
use crate::session::Session;

/// Times per page.
const PAGE_SIZE: i32 = 1_000;

/// List a schedule's backfills, or the times of one backfill
#[derive(Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(super) struct ListArgs {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Number of a backfill: list its times with their results
    #[arg(value_name = "BACKFILL")]
    number: Option<i64>,
}

const LIST_EXAMPLES: &str = r#"Examples:
  perennial schedule list-backfills payroll
  perennial schedule list-backfills payroll 1
"#;

/// Cancel a backfill; runs it has started go on
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial schedule cancel-backfill payroll 1\n")]
pub(super) struct CancelArgs {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Number of the backfill, see `list-backfills`
    #[arg(value_name = "BACKFILL", required_unless_present = "backfill_id")]
    number: Option<i64>,

    /// Number of the backfill, as a flag
    #[arg(long, value_name = "N", conflicts_with = "number")]
    backfill_id: Option<i64>,
}

pub(super) async fn list(args: ListArgs, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    if let Some(number) = args.number {
        return list_times(&id, number, session).await;
    }
    let backfills = all(&session.client, &id).await?;
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
        session.output.note("the schedule has no backfills")?;
    }
    Ok(())
}

pub(super) async fn cancel(args: CancelArgs, session: &mut Session) -> anyhow::Result<()> {
    // Clap requires one of them.
    let backfill_id = args.number.or(args.backfill_id).unwrap_or_default();
    let request = CancelBackfillRequest {
        namespace: session.client.namespace.clone(),
        schedule_id: args.id.get()?,
        backfill_id,
    };
    session.client.schedules().cancel_backfill(request).await.map_err(only_perennial)?;
    session.output.message(&CancelBackfillResponse {}, |output| {
        Ok(output.line(format!("Canceled backfill {backfill_id}"))?)
    })
}

/// Lists the times of a backfill with their results, page by page.
async fn list_times(id: &str, number: i64, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let mut list = session.output.list(time_columns());
    let mut next_page_token = Vec::new();
    loop {
        let page = times_page(&client, id, number, next_page_token).await?;
        for occurrence in &page.occurrences {
            list.push(occurrence, |times| time_row(occurrence, times))?;
        }
        if page.next_page_token.is_empty() {
            break;
        }
        next_page_token = page.next_page_token;
    }
    if list.finish()? == 0 {
        session.output.note("none of its times has been planned yet")?;
    }
    Ok(())
}

/// Fetches a page of a backfill's times.
pub(super) async fn times_page(
    client: &Client,
    id: &str,
    backfill_id: i64,
    next_page_token: Vec<u8>,
) -> anyhow::Result<ListBackfillOccurrencesResponse> {
    let request = ListBackfillOccurrencesRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.to_owned(),
        backfill_id,
        limit: PAGE_SIZE,
        next_page_token,
    };
    let response = client.schedules().list_backfill_occurrences(request).await;
    Ok(response.map_err(only_perennial)?.into_inner())
}

/// The columns of [`time_row`].
pub(super) fn time_columns() -> Vec<Column> {
    ["Time", "Outcome", "Workflow", "Run"].map(Column::new).into()
}

/// The row of one time.
pub(super) fn time_row(occurrence: &BackfillOccurrence, times: &Times) -> Row {
    let run = occurrence.run.clone().unwrap_or_default();
    let outcome = match occurrence.reason.as_str() {
        "" => occurrence.outcome.clone(),
        reason => format!("{}: {}", occurrence.outcome, reason_in_words(reason)),
    };
    let time = instant(occurrence.nominal_time.as_ref());
    Row::from([times.show(time), outcome, run.workflow_id, run.run_id])
}

/// Fetches one backfill.
pub(super) async fn find(client: &Client, id: &str, backfill_id: i64) -> anyhow::Result<Backfill> {
    let found = all(client, id).await?.into_iter().find(|it| it.backfill_id == backfill_id);
    let gone = || ExitError {
        exit: Exit::NotFound,
        message: format!("there is no backfill {backfill_id} any more"),
    };
    Ok(found.ok_or_else(gone)?)
}

/// A backfill as one line of text.
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
        (false, false) => "running",
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
