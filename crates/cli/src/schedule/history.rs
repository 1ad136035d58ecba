//! `perennial schedule history`.

use perennial_proto::json::audit_event;
use perennial_proto::perennial::{
    CommandContext, ListScheduleEventsRequest, ScheduleEvent, schedule_event::Event,
};
use serde_json::json;

use super::id_args::ScheduleIdArgs;
use super::only_perennial;
use super::wording::reason_in_words;
use crate::output::{Column, Format, Row, Times, instant};
use crate::session::Session;

/// Show the audit history: changes, runs, and who made them
///
/// Also works for a deleted schedule.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Show at most this many events, 1 to 500 [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    limit: Option<i64>,

    /// Only events after this sequence number
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    after_sequence: i64,

    /// Show all events
    #[arg(long)]
    all: bool,

    /// Internal id of a deleted schedule with the same id, see `schedule list --deleted -o json`
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    internal_id: String,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule history payroll
  perennial schedule history payroll --all --output jsonl | jq 'select(.event_type == "SchedulePaused")'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let schedule_id = args.id.get()?;
    match session.output.format {
        Format::Json => write_document(&args, schedule_id, session).await,
        Format::Table | Format::Jsonl | Format::None => {
            write_list(&args, schedule_id, session).await
        }
    }
}

/// Writes events and the cursor of the next page as one JSON document.
async fn write_document(
    args: &Args,
    schedule_id: String,
    session: &mut Session,
) -> anyhow::Result<()> {
    let namespace = session.client.namespace.clone();
    let (mut events, mut after) = (Vec::new(), args.after_sequence);
    let next = loop {
        let page = page(args, &schedule_id, after, session).await?;
        events.extend(page.0.iter().map(audit_event));
        match page.1 {
            Some(next) if args.all => after = next,
            next => break next,
        }
    };
    let document = json!({
        "schedule_id": schedule_id,
        "namespace": namespace,
        "events": events,
        "has_more": next.is_some(),
        "next_cursor": next,
    });
    session.output.record(&document, |_| Ok(()))
}

async fn write_list(args: &Args, schedule_id: String, session: &mut Session) -> anyhow::Result<()> {
    let columns = vec![
        Column::new("Seq"),
        Column::new("Event"),
        Column::new("Recorded At"),
        Column::new("Workflow Refs"),
        Column::if_room("Details"),
        Column::if_room("By"),
    ];
    let mut after = args.after_sequence;
    let (mut events, mut next) = page(args, &schedule_id, after, session).await?;
    let client = session.client.clone();
    let mut list = session.output.list(columns);
    loop {
        for event in &events {
            list.push_record(&audit_event(event), |times| row(event, times))?;
        }
        match next {
            Some(cursor) if args.all => after = cursor,
            _ => break,
        }
        (events, next) = ask(args, &schedule_id, after, &client).await?;
    }
    let written = list.finish()?;
    if written == 0 {
        session.output.note("the schedule has no events")?;
    }
    if let Some(next) = next {
        session.output.note(format!(
            "there are more events: --after-sequence {next} shows the next page, --all shows all"
        ))?;
    }
    Ok(())
}

async fn page(
    args: &Args,
    schedule_id: &str,
    after: i64,
    session: &Session,
) -> anyhow::Result<(Vec<ScheduleEvent>, Option<i64>)> {
    ask(args, schedule_id, after, &session.client).await
}

/// Fetches a page, and the sequence number that the next page follows.
async fn ask(
    args: &Args,
    schedule_id: &str,
    after_sequence: i64,
    client: &crate::client::Client,
) -> anyhow::Result<(Vec<ScheduleEvent>, Option<i64>)> {
    let request = ListScheduleEventsRequest {
        namespace: client.namespace.clone(),
        schedule_id: schedule_id.to_owned(),
        limit: args.limit.map(|limit| limit.clamp(1, 500) as i32).unwrap_or_default(),
        after_sequence,
        internal_id: args.internal_id.clone(),
    };
    let response = client.schedules().list_schedule_events(request).await;
    let response = response.map_err(only_perennial)?.into_inner();
    Ok((response.events, response.has_more.then_some(response.next_cursor)))
}

fn row(event: &ScheduleEvent, times: &Times) -> Row {
    let (name, refs, details, context) = cells(event, times);
    let by = context.map(|it| match (it.principal.as_str(), it.source.as_str()) {
        ("", source) => source.to_owned(),
        (principal, _) => principal.to_owned(),
    });
    Row::from([
        event.sequence.to_string(),
        name.to_owned(),
        times.show(instant(event.recorded_at.as_ref())),
        refs,
        details,
        by.unwrap_or_default(),
    ])
}

/// The cells of an event: its name, its run, details, and who caused it.
fn cells<'e>(
    event: &'e ScheduleEvent,
    times: &Times,
) -> (&'static str, String, String, Option<&'e CommandContext>) {
    let time = |time: &Option<perennial_proto::Timestamp>| {
        instant(time.as_ref()).map(|time| times.clock(time)).unwrap_or_default()
    };
    let next = |at: &Option<perennial_proto::Timestamp>| match time(at) {
        at if at.is_empty() => String::new(),
        at => format!("next {at}"),
    };
    match &event.event {
        Some(Event::Created(it)) => {
            ("ScheduleCreated", String::new(), next(&it.next_fire_at), it.command_context.as_ref())
        }
        Some(Event::Paused(it)) => {
            ("SchedulePaused", String::new(), it.reason.clone(), it.command_context.as_ref())
        }
        Some(Event::Resumed(it)) => {
            ("ScheduleResumed", String::new(), next(&it.next_fire_at), it.command_context.as_ref())
        }
        Some(Event::Updated(it)) => (
            "ScheduleUpdated",
            String::new(),
            format!("changed {}", it.changed_fields.join(", ")),
            it.command_context.as_ref(),
        ),
        Some(Event::Triggered(it)) => (
            "ScheduleTriggered",
            format!("{} / {}", it.workflow_instance_id, it.workflow_run_id),
            format!("run {} for {}", it.trigger_number, time(&it.occurrence_time)),
            it.command_context.as_ref(),
        ),
        Some(Event::TriggerSkipped(it)) => (
            "ScheduleTriggerSkipped",
            String::new(),
            reason_in_words(&it.reason),
            it.command_context.as_ref(),
        ),
        Some(Event::Deleted(it)) => {
            ("ScheduleDeleted", String::new(), it.reason.clone(), it.command_context.as_ref())
        }
        None => ("", String::new(), String::new(), None),
    }
}
