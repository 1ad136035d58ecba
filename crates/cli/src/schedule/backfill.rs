//! `perennial schedule backfill`.

use std::time::Duration;

use perennial_proto::perennial::{Backfill, BackfillScheduleRequest, BackfillScheduleResponse};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;
use perennial_proto::temporal::schedule::v1::{BackfillRequest, SchedulePatch};
use perennial_proto::temporal::workflowservice::v1::ListScheduleMatchingTimesRequest;

use super::backfills::{find, line, time_columns, time_row, times_page};
use super::id_args::ScheduleIdArgs;
use super::{context, is_unimplemented, only_perennial, patch, resolve_time};
use crate::client::Client;
use crate::input::{InstantText, overlap_policy};
use crate::output::{Column, Progress, instant, stamp, thousands};
use crate::session::Session;

/// How often `--watch` polls the state of the backfill.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Pages of times that are counted for the progress bar. With more, the bar has no total.
const PAGES_COUNTED_MAX: usize = 100;

/// Start runs for the times in a window, past or future
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Start of the window (inclusive); without an offset, in the schedule's time zone
    #[arg(long, value_name = "TIME")]
    start_time: InstantText,

    /// End of the window (inclusive)
    #[arg(long, value_name = "TIME")]
    end_time: InstantText,

    /// Overlap policy for these runs [default: the schedule's]; BufferAll runs one after the other,
    /// AllowAll all at once
    #[arg(long, value_name = "POLICY", value_parser = overlap_policy)]
    overlap_policy: Option<ScheduleOverlapPolicy>,

    /// Only list the times, start nothing
    #[arg(long, conflicts_with = "watch")]
    dry_run: bool,

    /// Wait until all runs are started; show the progress and the result of each
    #[arg(long)]
    watch: bool,

    /// Reason, stored with the backfill
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

const EXAMPLES: &str = r#"Examples:
  Which times would it be?
    perennial schedule backfill payroll --start-time 2026-05-01 --end-time 2026-05-31T23:59:59 --dry-run

  One after the other, watching
    perennial schedule backfill payroll --overlap-policy BufferAll --watch \
      --start-time 2026-05-01T00:00:00Z --end-time 2026-05-31T23:59:59Z
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    let client = session.client.clone();
    let request = BackfillScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        start_time: Some(stamp(resolve_time(&args.start_time, &id, &client).await?)),
        end_time: Some(stamp(resolve_time(&args.end_time, &id, &client).await?)),
        overlap_policy: args.overlap_policy.unwrap_or_default().into(),
        dry_run: args.dry_run,
        request_id: Client::new_request_id(),
        context: context(&client, &args.reason),
    };
    if args.dry_run {
        return dry_run(request, session).await;
    }
    let total = match args.watch {
        true => count(&client, &request).await?,
        false => None,
    };
    let response = match client.schedules().backfill_schedule(request.clone()).await {
        Ok(response) => response.into_inner(),
        Err(status) if is_unimplemented(&status) && !args.watch => {
            let backfill = BackfillRequest {
                start_time: request.start_time,
                end_time: request.end_time,
                overlap_policy: request.overlap_policy,
            };
            let backfill =
                SchedulePatch { backfill_request: vec![backfill], ..SchedulePatch::default() };
            patch(&client, &id, backfill).await?;
            BackfillScheduleResponse::default()
        }
        Err(status) => return Err(only_perennial(status)),
    };
    let mut backfill = response.backfill.clone();
    let mut response = response;
    if let (true, Some(begun)) = (args.watch, backfill.clone()) {
        backfill = Some(watch(&client, &id, begun.backfill_id, total, session).await?);
        let first = times_page(&client, &id, begun.backfill_id, Vec::new()).await?;
        response.occurrences = first.occurrences;
        response.next_page_token = first.next_page_token;
    }
    response.backfill = backfill;
    session.output.message(&response, |output| {
        let Some(backfill) = &response.backfill else {
            return Ok(output.line("Backfill request sent")?);
        };
        output.line(line(backfill, &output.times))?;
        if args.watch && !response.occurrences.is_empty() {
            let rows = response.occurrences.iter().map(|it| time_row(it, &output.times));
            let rows: Vec<_> = rows.collect();
            output.table(time_columns(), rows)?;
        }
        if args.watch && !response.next_page_token.is_empty() {
            let all = format!("schedule list-backfills {id} {}", backfill.backfill_id);
            output.note(format!("there are more times; `{all}` lists all"))?;
        }
        Ok(())
    })
}

/// Lists the times, page by page.
async fn dry_run(
    mut request: BackfillScheduleRequest,
    session: &mut Session,
) -> anyhow::Result<()> {
    let client = session.client.clone();
    let zone = session.output.times.zone_name().to_owned();
    let mut list = session.output.list(vec![Column::new(zone), Column::new("Distance")]);
    loop {
        let page = match client.schedules().backfill_schedule(request.clone()).await {
            Ok(page) => page.into_inner(),
            Err(status) if is_unimplemented(&status) => matching_times(&client, &request).await?,
            Err(status) => return Err(status.into()),
        };
        for time in page.times.iter().filter_map(|time| instant(Some(time))) {
            list.push_record(&time.to_string(), |times| [times.clock(time), times.distance(time)])?;
        }
        match page.times.last().filter(|_| page.has_more) {
            // Times are whole seconds.
            Some(last) => request.start_time = Some(after(*last)),
            None => break,
        }
    }
    let count = list.finish()?;
    let remark = match count {
        0 => "the schedule has no times in this window".to_owned(),
        1 => "1 time; nothing was started".to_owned(),
        count => format!("{} times; nothing was started", thousands(count)),
    };
    Ok(session.output.note(remark)?)
}

/// Lists the times with Temporal's RPC, for other servers: its windows exclude their start, and it returns at most
/// a thousand times.
async fn matching_times(
    client: &Client,
    request: &BackfillScheduleRequest,
) -> anyhow::Result<BackfillScheduleResponse> {
    let start = instant(request.start_time.as_ref());
    let before = start.and_then(|time| time.checked_sub(jiff::Span::new().nanoseconds(1)).ok());
    let request = ListScheduleMatchingTimesRequest {
        namespace: request.namespace.clone(),
        schedule_id: request.schedule_id.clone(),
        start_time: before.map(stamp),
        end_time: request.end_time,
    };
    let times = client.workflow().list_schedule_matching_times(request).await?.into_inner();
    let has_more = times.start_time.len() >= 1_000;
    Ok(BackfillScheduleResponse { times: times.start_time, has_more, ..Default::default() })
}

/// Counts the times; `None` if there are too many.
async fn count(client: &Client, request: &BackfillScheduleRequest) -> anyhow::Result<Option<u64>> {
    let mut request = BackfillScheduleRequest { dry_run: true, ..request.clone() };
    let mut count = 0;
    for _ in 0..PAGES_COUNTED_MAX {
        let page = client.schedules().backfill_schedule(request.clone()).await;
        let page = page.map_err(only_perennial)?.into_inner();
        count += page.times.len() as u64;
        match page.times.last().filter(|_| page.has_more) {
            Some(last) => request.start_time = Some(after(*last)),
            None => return Ok(Some(count)),
        }
    }
    Ok(None)
}

/// Waits until the backfill is done.
async fn watch(
    client: &Client,
    id: &str,
    backfill_id: i64,
    total: Option<u64>,
    session: &Session,
) -> anyhow::Result<Backfill> {
    let progress = match total {
        Some(total) => Progress::up_to(total, &session.output),
        None => Progress::unbounded(&session.output),
    };
    loop {
        let backfill = find(client, id, backfill_id).await?;
        if backfill.finished_at.is_some() {
            return Ok(backfill);
        }
        let done = backfill.started_count + backfill.skipped_count;
        let up_to = instant(backfill.planned_up_to.as_ref());
        let up_to = up_to.map(|time| format!("up to {}", session.output.times.clock(time)));
        progress.at(done.unsigned_abs(), up_to.unwrap_or_default());
        tokio::time::sleep(WATCH_INTERVAL).await;
    }
}

fn after(time: perennial_proto::Timestamp) -> perennial_proto::Timestamp {
    perennial_proto::Timestamp { seconds: time.seconds + 1, nanos: 0 }
}
