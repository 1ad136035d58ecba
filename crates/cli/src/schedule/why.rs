//! `perennial schedule why`.

use perennial_proto::perennial::{ExplainOccurrenceRequest, Occurrence};

use super::ledger::{columns, row};
use super::{only_perennial, resolve_time};
use crate::failure::Usage;
use crate::input::InstantText;
use crate::output::{stamp, write_wrapped};
use crate::session::Session;
use crate::terminal::Style;

/// Explain whether and why a schedule fires, or fired, at a time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(override_usage = "perennial schedule why [OPTIONS] <SCHEDULE_ID> <TIME>")]
pub(super) struct Args {
    /// Schedule id and time; without an offset, in the schedule's time zone
    #[arg(value_names = ["SCHEDULE_ID", "TIME"], num_args = 0..=2)]
    words: Vec<String>,

    /// Schedule id, as a flag
    #[arg(long, short = 's', alias = "sid", value_name = "ID")]
    schedule_id: Option<String>,

    /// Time, as a flag
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
}

impl Args {
    /// The schedule id and the time, from positional arguments or flags.
    fn read(self) -> anyhow::Result<(String, InstantText)> {
        let mut words = self.words.into_iter();
        let missing = || Usage::new("missing schedule id or time: perennial schedule why ID TIME");
        let id = self.schedule_id.or_else(|| words.next()).ok_or_else(missing)?;
        let time = self.time.or_else(|| words.next()).ok_or_else(missing)?;
        if words.next().is_some() {
            return Err(missing().into());
        }
        let read = time.parse().map_err(|error| Usage::new(format!("{time:?}: {error}")))?;
        Ok((id, read))
    }
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule why payroll 2026-11-16T09:00
  perennial schedule why payroll 2026-11-16T08:00:00Z --output json
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let (id, time) = args.read()?;
    let client = &session.client;
    let request = ExplainOccurrenceRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        time: Some(stamp(resolve_time(&time, &id, client).await?)),
        ..ExplainOccurrenceRequest::default()
    };
    let response = client.schedules().explain_occurrence(request).await;
    let response = response.map_err(only_perennial)?.into_inner();
    session.output.message(&response, |output| {
        let look = output.look;
        write_wrapped("", &response.explanation, look, output.writer())?;
        let known: Vec<&Occurrence> =
            response.occurrence.iter().filter(|it| it.decided_at.is_some()).collect();
        let times = output.times.clone();
        if !known.is_empty() {
            output.line("")?;
            output.table(columns(), known.into_iter().map(|it| row(it, &times)))?;
        }
        if !response.manual.is_empty() {
            output.line(format!("\n{}", look.paint(Style::Heading, "Triggers and backfills")))?;
            output.table(columns(), response.manual.iter().map(|it| row(it, &times)))?;
        }
        Ok(())
    })
}
