//! `perennial schedule ledger`.

use perennial_proto::perennial::{ListOccurrencesRequest, Occurrence, Verdict};

use super::id_args::ScheduleIdArgs;
use super::wording::{reason_in_words, verdict_name};
use super::{only_perennial, resolve_time};
use crate::input::InstantText;
use crate::output::{Column, Row, Times, instant, stamp, thousands};
use crate::session::Session;
use crate::terminal::Style;

/// The server's maximum page size.
const PAGE_SIZE: i32 = 1_000;

/// Show the verdict on each past time: fired or not, why, and its run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Only times from this one on; without an offset, in the schedule's time zone
    #[arg(long, value_name = "TIME")]
    start_time: Option<InstantText>,

    /// Only times up to this one
    #[arg(long, value_name = "TIME")]
    end_time: Option<InstantText>,

    /// Show triggers and backfills instead of scheduled times
    #[arg(long)]
    manual: bool,

    /// Earliest first
    #[arg(long)]
    forward: bool,

    /// Show at most this many lines
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    #[arg(allow_negative_numbers = true)]
    limit: i64,

    /// Show all lines
    #[arg(long)]
    all: bool,

    /// Internal id of a deleted schedule with the same id, see `schedule list --deleted -o json`
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    internal_id: String,
}

const EXAMPLES: &str = r#"Examples:
  The latest verdicts
    perennial schedule ledger payroll

  What wasn't started in November, for a script
    perennial schedule ledger payroll --start-time 2026-11-01 --end-time 2026-12-01 --all -o jsonl \
      | jq -r 'select(.verdict != "VERDICT_FIRED") | .nominalTime'

  Triggers and backfills
    perennial schedule ledger payroll --manual
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    let client = session.client.clone();
    let mut window = [None, None];
    for (place, given) in window.iter_mut().zip([&args.start_time, &args.end_time]) {
        if let Some(time) = given {
            *place = Some(stamp(resolve_time(time, &id, &client).await?));
        }
    }
    let [start_time, end_time] = window;
    let mut next_page_token = Vec::new();
    let mut left = if args.all { u64::MAX } else { args.limit.max(1).unsigned_abs() };
    let mut list = session.output.list(columns());
    let more = loop {
        let request = ListOccurrencesRequest {
            namespace: client.namespace.clone(),
            schedule_id: id.clone(),
            start_time,
            end_time,
            manual: args.manual,
            reverse: !args.forward,
            limit: i32::try_from(left).unwrap_or(PAGE_SIZE).min(PAGE_SIZE),
            internal_id: args.internal_id.clone(),
            next_page_token,
        };
        let page = client.schedules().list_occurrences(request).await;
        let page = page.map_err(only_perennial)?.into_inner();
        for occurrence in &page.occurrences {
            list.push(occurrence, |times| row(occurrence, times))?;
        }
        left = left.saturating_sub(page.occurrences.len() as u64);
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() || left == 0 {
            break !next_page_token.is_empty();
        }
    };
    let written = list.finish()?;
    match (written, more) {
        (0, _) => session.output.note("no time has a verdict yet")?,
        (_, true) => session.output.note("there are more lines; --limit N or --all shows them")?,
        (_, false) => {}
    }
    Ok(())
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::new("Time"),
        Column::new("Verdict"),
        Column::new("Run"),
        Column::new("Why"),
        Column::if_room("Decided"),
    ]
}

pub(super) fn row(occurrence: &Occurrence, times: &Times) -> Row {
    let clock = |time: Option<&perennial_proto::Timestamp>| {
        instant(time).map(|time| times.clock(time)).unwrap_or_default()
    };
    let mut time = clock(occurrence.nominal_time.as_ref());
    if occurrence.count > 1
        || occurrence.until.is_some_and(|it| Some(it) != occurrence.nominal_time)
    {
        time.push_str(&format!(" – {}", clock(occurrence.until.as_ref())));
        if occurrence.count > 0 {
            time.push_str(&format!(" ({} times)", thousands(occurrence.count.unsigned_abs())));
        }
    }
    let why = match (occurrence.reason.as_str(), occurrence.start_reason.as_str()) {
        ("", reason) => reason.to_owned(),
        (reason, _) => reason_in_words(reason),
    };
    let row = Row::from([
        time,
        verdict_name(occurrence.verdict()).to_owned(),
        occurrence.run.clone().unwrap_or_default().workflow_id,
        why,
        times.show(instant(occurrence.decided_at.as_ref())),
    ]);
    row.styled(match occurrence.verdict() {
        Verdict::Missed | Verdict::Dropped | Verdict::Late => Style::Warning,
        Verdict::Skipped | Verdict::Excluded | Verdict::NotATime => Style::Faint,
        Verdict::Fired | Verdict::Buffered | Verdict::Pending | Verdict::Unspecified => {
            Style::Plain
        }
    })
}
