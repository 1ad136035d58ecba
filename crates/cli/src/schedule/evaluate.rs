//! `perennial schedule evaluate`.

use perennial_proto::Timestamp;
use perennial_proto::perennial::{EvaluateSchedulesRequest, Evaluated};
use serde::Serialize;

use super::only_perennial;
use super::wording::reason_in_words;
use crate::output::{Column, Format, instant, thousands};
use crate::session::Session;

/// Evaluate all due schedules once and start their runs
///
/// For a server with `--schedule-evaluation on-demand`, which relies on an external timer. Evaluates all
/// namespaces unless --namespace is given. The output has one row per time.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Evaluate at most this many schedules, 1 to 1,000
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    limit: i64,

    /// Short for --output json
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = r#"Examples:
  Once a minute, from a crontab
    * * * * * perennial schedule evaluate --limit 100 --json

  Only the schedules of one namespace
    perennial schedule evaluate --namespace billing
"#;

/// JSON output: the result of one time. Field names are a stable interface.
#[derive(Serialize)]
struct Record<'e> {
    namespace: &'e str,
    schedule_id: &'e str,
    instance_id: Option<&'e str>,
    outcome: &'e str,
    occurrence_time: Option<String>,
    last_fired_at: Option<String>,
    next_fire_at: Option<String>,
    run_id: Option<&'e str>,
    reason: Option<&'e str>,
    count: i64,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let namespace = session.client.named_namespace.clone().unwrap_or_default();
    let limit = args.limit.clamp(1, 1_000) as i32;
    let request = EvaluateSchedulesRequest { limit, namespace };
    let response = session.client.schedules().evaluate_schedules(request).await;
    let response = response.map_err(only_perennial)?.into_inner();
    if args.json {
        session.output.format = Format::Json;
    }
    let columns = vec![
        Column::new("Schedule"),
        Column::new("Time"),
        Column::new("Outcome"),
        Column::new("Run"),
        Column::if_room("Next"),
        Column::if_room("Namespace"),
    ];
    let mut list = session.output.list(columns);
    for evaluated in &response.evaluated {
        list.push_record(&record(evaluated), |times| {
            [
                evaluated.schedule_id.clone(),
                times.show(instant(evaluated.occurrence_time.as_ref())),
                outcome(evaluated),
                evaluated.instance_id.clone(),
                times.show(instant(evaluated.next_fire_at.as_ref())),
                evaluated.namespace.clone(),
            ]
        })?;
    }
    if list.finish()? == 0 {
        session.output.note("no schedule was due")?;
    }
    if response.has_more {
        session.output.note("more schedules are due: run the command again")?;
    }
    Ok(())
}

fn outcome(evaluated: &Evaluated) -> String {
    let mut text = evaluated.outcome.clone();
    if evaluated.count > 1 {
        text = format!("{text}, {} times in a row", thousands(evaluated.count.unsigned_abs()));
    }
    if !evaluated.reason.is_empty() {
        text = format!("{text}: {}", reason_in_words(&evaluated.reason));
    }
    text
}

fn record(evaluated: &Evaluated) -> Record<'_> {
    fn given(text: &str) -> Option<&str> {
        Some(text).filter(|text| !text.is_empty())
    }
    let time = |time: &Option<Timestamp>| instant(time.as_ref()).map(|time| time.to_string());
    Record {
        namespace: &evaluated.namespace,
        schedule_id: &evaluated.schedule_id,
        instance_id: given(&evaluated.instance_id),
        outcome: &evaluated.outcome,
        occurrence_time: time(&evaluated.occurrence_time),
        last_fired_at: time(&evaluated.last_fired_at),
        next_fire_at: time(&evaluated.next_fire_at),
        run_id: given(&evaluated.run_id),
        reason: given(&evaluated.reason),
        count: evaluated.count,
    }
}
