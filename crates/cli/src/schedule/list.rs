//! `perennial schedule list`.

use perennial_engine::schedule::spec;
use perennial_proto::json::{Payloads, to_json};
use perennial_proto::perennial::{self, ListedSchedule, ScheduleStatus};
use perennial_proto::temporal::schedule::v1::{ScheduleListEntry, ScheduleListInfo};
use perennial_proto::temporal::workflowservice::v1::ListSchedulesRequest;
use serde_json::Value;

use super::is_unimplemented;
use super::wording::status_in_words;
use crate::client::Client;
use crate::output::{Column, Row, Times, attribute_values, instant};
use crate::session::Session;
use crate::terminal::Style;

/// Schedules per page.
const PAGE_SIZE: i32 = 200;

/// List schedules
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only schedules that match this list filter
    #[arg(long, short, value_name = "FILTER", default_value = "")]
    query: String,

    /// Include deleted schedules
    #[arg(long, alias = "with-deleted")]
    deleted: bool,

    /// Show at most this many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Show more columns: notes, time zone
    #[arg(long, short)]
    long: bool,

    /// Show all columns, also jitter, bounds, search attributes, memo
    #[arg(long)]
    really_long: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule list
  perennial schedule list --query 'TemporalSchedulePaused = true'
  perennial schedule list --deleted --output jsonl | jq -r .scheduleId
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let detail = match (args.really_long, args.long) {
        (true, _) => Detail::All,
        (false, true) => Detail::More,
        (false, false) => Detail::Few,
    };
    let payloads = session.output.payloads;
    let mut list = session.output.list(columns(detail));
    let mut token = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    'pages: loop {
        let (schedules, next) = page(&args, &client, token).await?;
        for listed in &schedules {
            if left == 0 {
                break 'pages;
            }
            left -= 1;
            list.push_record(&record(listed, payloads), |times| row(listed, detail, times))?;
        }
        if next.is_empty() || left == 0 {
            break;
        }
        // The next page may take a while.
        list.flush()?;
        token = next;
    }
    let written = list.finish()?;
    if written == 0 {
        session.output.note(format!("no schedules in the namespace {}", client.namespace))?;
    }
    Ok(())
}

/// Fetches a page, and the token of the next.
async fn page(
    args: &Args,
    client: &Client,
    next_page_token: Vec<u8>,
) -> anyhow::Result<(Vec<ListedSchedule>, Vec<u8>)> {
    let request = perennial::ListSchedulesRequest {
        namespace: client.namespace.clone(),
        query: args.query.clone(),
        with_deleted: args.deleted,
        page_size: PAGE_SIZE,
        next_page_token: next_page_token.clone(),
    };
    match client.schedules().list_schedules(request).await {
        Ok(response) => {
            let response = response.into_inner();
            Ok((response.schedules, response.next_page_token))
        }
        Err(status) if is_unimplemented(&status) => {
            let request = ListSchedulesRequest {
                namespace: client.namespace.clone(),
                query: args.query.clone(),
                maximum_page_size: PAGE_SIZE,
                next_page_token,
            };
            let response = client.workflow().list_schedules(request).await?.into_inner();
            let listed = |schedule: ScheduleListEntry| ListedSchedule {
                schedule: Some(schedule),
                ..ListedSchedule::default()
            };
            let schedules = response.schedules.into_iter().map(listed).collect();
            Ok((schedules, response.next_page_token))
        }
        Err(status) => Err(status.into()),
    }
}

/// JSON in the format of Temporal's command line, with Perennial's additional fields.
fn record(listed: &ListedSchedule, payloads: Payloads) -> Value {
    let entry = listed.schedule.clone().unwrap_or_default();
    let mut record = to_json(&entry, payloads);
    let ours = to_json(&ListedSchedule { schedule: None, ..listed.clone() }, payloads);
    if let (Value::Object(record), Value::Object(ours)) = (&mut record, ours) {
        record.extend(ours);
    }
    record
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Few,
    More,
    All,
}

fn columns(detail: Detail) -> Vec<Column> {
    let mut columns = vec![
        Column::new("Schedule"),
        Column::new("Status"),
        Column::new("Next"),
        Column::if_room("Last"),
        Column::if_room("Workflow"),
        Column::if_room("When"),
    ];
    if detail >= Detail::More {
        columns.extend([Column::new("Zone"), Column::new("Notes")]);
    }
    if detail == Detail::All {
        let all = ["Jitter", "From", "Until", "Search attributes", "Memo"];
        columns.extend(all.map(Column::new));
    }
    columns
}

fn row(listed: &ListedSchedule, detail: Detail, times: &Times) -> Row {
    let entry = listed.schedule.clone().unwrap_or_default();
    let info = entry.info.clone().unwrap_or_default();
    let status = status_of(listed, &info);
    let last = info.recent_actions.last().and_then(|action| action.actual_time.as_ref());
    let definition = info.spec.clone().unwrap_or_default();
    let mut cells = vec![
        entry.schedule_id.clone(),
        shown_status(listed, status),
        times.show(
            instant(info.future_action_times.first()).filter(|_| status == ScheduleStatus::Active),
        ),
        times.show(instant(last)),
        info.workflow_type.clone().unwrap_or_default().name,
        spec_text(&info),
    ];
    if detail >= Detail::More {
        cells.extend([definition.timezone_name.clone(), info.notes.clone()]);
    }
    if detail == Detail::All {
        let json = |value: Value| if value.is_null() { String::new() } else { value.to_string() };
        let object = |fields: Option<Value>| json(fields.unwrap_or(Value::Null));
        cells.extend([
            crate::output::duration(definition.jitter.as_ref().filter(|it| it.seconds != 0)),
            times.show(instant(definition.start_time.as_ref())),
            times.show(instant(definition.end_time.as_ref())),
            object(entry.search_attributes.as_ref().map(attribute_values)),
            object(entry.memo.as_ref().map(|it| to_json(it, Payloads::Shorthand))),
        ]);
    }
    let style = match status {
        ScheduleStatus::Active | ScheduleStatus::Unspecified => Style::Plain,
        ScheduleStatus::Broken => Style::Warning,
        ScheduleStatus::Paused | ScheduleStatus::Deleted => Style::Faint,
    };
    Row::from(cells).styled(style)
}

/// The status, with the number of remaining runs if they are limited.
fn shown_status(listed: &ListedSchedule, status: ScheduleStatus) -> String {
    let words = status_in_words(status, &listed.status_reason);
    match (status, listed.remaining_runs) {
        (ScheduleStatus::Deleted, _) | (_, None) => words,
        (_, Some(1)) => format!("{words}, 1 run left"),
        (_, Some(left)) => format!("{words}, {left} runs left"),
    }
}

/// The status. Temporal's server only says whether the schedule is paused.
fn status_of(listed: &ListedSchedule, info: &ScheduleListInfo) -> ScheduleStatus {
    match (listed.status(), info.paused) {
        (ScheduleStatus::Unspecified, true) => ScheduleStatus::Paused,
        (ScheduleStatus::Unspecified, false) => ScheduleStatus::Active,
        (known, _) => known,
    }
}

/// The parts of the spec, in the notation of the flags.
fn spec_text(info: &ScheduleListInfo) -> String {
    let read = spec::read(&info.spec.clone().unwrap_or_default());
    read.map(|definition| spec::texts(&definition).join("; ")).unwrap_or_default()
}
