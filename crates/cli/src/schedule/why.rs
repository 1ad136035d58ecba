//! `perennial schedule why`.

use perennial_proto::perennial::{ExplainOccurrenceRequest, Occurrence};

use super::id::ScheduleIdArgs;
use super::ledger::{columns, row};
use super::{instant_on_clock_of, only_perennial};
use crate::input::InstantText;
use crate::output::{stamp, write_wrapped};
use crate::session::Session;
use crate::terminal::Style;

/// Did it fire then, why not, or will it?
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "perennial schedule why [OPTIONS] <SCHEDULE_ID> <TIME>")]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// The time; without an offset, on the schedule's clock
    #[arg(value_name = "TIME", required_unless_present = "time_flag")]
    time: Option<InstantText>,

    /// The same as a flag
    #[arg(long = "time", value_name = "TIME", id = "time_flag", conflicts_with = "time")]
    flag: Option<InstantText>,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule why payroll 2026-11-16T09:00
  perennial schedule why payroll 2026-11-16T08:00:00Z --output json
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    let client = &session.client;
    let Some(time) = args.time.or(args.flag) else {
        return Err(
            crate::failure::Usage::new("say which time: perennial schedule why ID TIME").into()
        );
    };
    let request = ExplainOccurrenceRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        time: Some(stamp(instant_on_clock_of(&time, &id, client).await?)),
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
            output.line(format!("\n{}", look.paint(Style::Heading, "Asked for by people")))?;
            output.table(columns(), response.manual.iter().map(|it| row(it, &times)))?;
        }
        Ok(())
    })
}
