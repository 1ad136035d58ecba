//! `perennial workflow show`.

use perennial_proto::json::{Payloads, to_json};
use perennial_proto::temporal::history::v1::HistoryEvent;

use super::event_text::{event_name, event_style, flat_fields, summary};
use super::history::{Events, ReadMode};
use super::lineage::Lineage;
use super::outcome::Outcome;
use crate::client::Client;
use crate::input::ExecutionArgs;
use crate::output::{Card, Column, Format, Output, Row, Times, instant};
use crate::session::Session;

/// Show a workflow's history
///
/// If a schedule started the run, the first line shows the schedule and the reason. The JSON output is a history that
/// SDKs can replay.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Wait for new events until the workflow ends
    #[arg(long, short, conflicts_with = "reverse")]
    follow: bool,

    /// Show all details of each event
    #[arg(long)]
    detailed: bool,

    /// Last event first
    #[arg(long)]
    reverse: bool,
}

/// Arguments of `observe`, which always follows.
#[derive(Debug, clap::Args)]
pub(super) struct ObserveArgs {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Show all details of each event
    #[arg(long, alias = "show-detail")]
    detailed: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow show order-42
  perennial workflow show order-42 --follow
  perennial workflow show order-42 --detailed --reverse
  perennial workflow show order-42 -o json > history.json
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.execution.get()?;
    let mode = match (args.follow, args.reverse) {
        (true, _) => ReadMode::Following,
        (false, true) => ReadMode::Backwards,
        (false, false) => ReadMode::Forwards,
    };
    let client: Client = session.client.clone();
    let events = Events::of(&client, execution, mode);
    let last = write(events, args.detailed, &mut session.output).await?;
    // Show the outcome if the last event closes the run.
    match last.as_ref().and_then(Outcome::of) {
        Some(outcome) if session.output.format == Format::Table => {
            session.output.line("")?;
            outcome.write(&mut session.output, String::new())
        }
        _ => Ok(()),
    }
}

pub(super) async fn observe(args: ObserveArgs, session: &mut Session) -> anyhow::Result<()> {
    let ObserveArgs { execution, detailed } = args;
    let args = Args { execution, follow: true, detailed, reverse: false };
    run(args, session).await
}

/// Writes the events as they arrive, and returns the last one.
pub(super) async fn write(
    events: Events,
    detailed: bool,
    output: &mut Output,
) -> anyhow::Result<Option<HistoryEvent>> {
    match (output.format, detailed) {
        (Format::Json | Format::Jsonl | Format::None, _) => write_json(events, output).await,
        (Format::Table, true) => write_cards(events, output).await,
        (Format::Table, false) => write_table(events, output).await,
    }
}

/// Writes one JSON document for replay, so payloads are in full. Events are written as they arrive.
async fn write_json(
    mut events: Events,
    output: &mut Output,
) -> anyhow::Result<Option<HistoryEvent>> {
    let pretty = output.format == Format::Json;
    let (begin, between, end) = match pretty {
        true => ("{\n  \"events\": [\n", ",\n", "\n  ]\n}\n"),
        false => ("{\"events\":[", ",", "]}\n"),
    };
    let mut last = None;
    while let Some(event) = events.next().await? {
        let value = to_json(&event, Payloads::Full);
        let text = match pretty {
            true => indented(&serde_json::to_string_pretty(&value)?),
            false => value.to_string(),
        };
        if output.format != Format::None {
            let before = if last.is_none() { begin } else { between };
            output.writer().write_all(before.as_bytes())?;
            output.writer().write_all(text.as_bytes())?;
        }
        last = Some(event);
        if !events.is_at_hand() {
            output.flush()?;
        }
    }
    if output.format != Format::None && last.is_some() {
        output.writer().write_all(end.as_bytes())?;
    }
    Ok(last)
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

async fn write_table(
    mut events: Events,
    output: &mut Output,
) -> anyhow::Result<Option<HistoryEvent>> {
    let mut next = events.next().await?;
    let lineage = next.as_ref().and_then(Lineage::of);
    if let Some(lineage) = &lineage {
        lineage.write(output)?;
    }
    let columns = ["Id", "Time", "Type"].map(Column::new).into_iter();
    let mut list = output.list(columns.chain([Column::if_room("Details")]).collect());
    let mut last = None;
    while let Some(event) = next {
        list.push(&event, |times| row(&event, times))?;
        if !events.is_at_hand() {
            list.flush()?;
        }
        last = Some(event);
        next = events.next().await?;
    }
    list.finish()?;
    // In reverse order the first event is the last line.
    if let (None, Some(lineage)) = (lineage, last.as_ref().and_then(Lineage::of)) {
        lineage.write(output)?;
    }
    Ok(last)
}

fn row(event: &HistoryEvent, times: &Times) -> Row {
    let time = instant(event.event_time.as_ref());
    let time = time.map(|time| times.clock(time)).unwrap_or_default();
    Row::from([event.event_id.to_string(), time, event_name(event), summary(event)])
        .styled(event_style(event))
}

async fn write_cards(
    mut events: Events,
    output: &mut Output,
) -> anyhow::Result<Option<HistoryEvent>> {
    let mut last = None;
    while let Some(event) = events.next().await? {
        let mut card = Card::default();
        if let Some(lineage) = Lineage::of(&event) {
            lineage.fill(&mut card);
        }
        card.heading(format!("[{}] {}", event.event_id, event_name(&event)));
        for (name, value) in flat_fields(&event, output.payloads) {
            card.field(name, value);
        }
        if last.is_some() {
            output.line("")?;
        }
        output.card(&card)?;
        if !events.is_at_hand() {
            output.flush()?;
        }
        last = Some(event);
    }
    Ok(last)
}
