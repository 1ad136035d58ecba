//! `perennial schedule evaluate`.

use perennial_proto::Timestamp;
use perennial_proto::perennial::{EvaluateSchedulesRequest, Evaluated};
use serde::Serialize;

use super::only_perennial;
use crate::output::{Column, Format, instant};
use crate::session::Session;

/// Look once at the schedules that are due, in that order, and start what is to be started
///
/// For a server that runs with `--schedule-evaluation on-demand` and is driven by a timer of your own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Look at no more than so many schedules
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..=1000))]
    limit: i32,

    /// The same as --output json
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = r#"Examples:
  Once a minute, from a crontab
    * * * * * perennial schedule evaluate --limit 100 --json
"#;

/// What became of one schedule. The names are part of the product.
#[derive(Serialize)]
struct Record<'e> {
    namespace: &'e str,
    schedule_id: &'e str,
    instance_id: Option<&'e str>,
    outcome: &'e str,
    occurrence_time: Option<String>,
    last_fired_at: Option<String>,
    next_fire_at: Option<String>,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = EvaluateSchedulesRequest { limit: args.limit };
    let response = session.client.schedules().evaluate_schedules(request).await;
    let response = response.map_err(only_perennial)?.into_inner();
    if args.json {
        session.output.format = Format::Json;
    }
    let columns = vec![
        Column::new("Schedule"),
        Column::new("Outcome"),
        Column::new("Run"),
        Column::new("Time"),
        Column::if_room("Next"),
        Column::if_room("Namespace"),
    ];
    let mut list = session.output.list(columns);
    for evaluated in &response.evaluated {
        list.push_record(&record(evaluated), |times| {
            [
                evaluated.schedule_id.clone(),
                evaluated.outcome.replace('_', " "),
                evaluated.instance_id.clone(),
                times.show(instant(evaluated.occurrence_time.as_ref())),
                times.show(instant(evaluated.next_fire_at.as_ref())),
                evaluated.namespace.clone(),
            ]
        })?;
    }
    if list.finish()? == 0 {
        session.output.remark("nothing was due")?;
    }
    Ok(())
}

fn record(evaluated: &Evaluated) -> Record<'_> {
    let time = |time: &Option<Timestamp>| instant(time.as_ref()).map(|time| time.to_string());
    Record {
        namespace: &evaluated.namespace,
        schedule_id: &evaluated.schedule_id,
        instance_id: Some(evaluated.instance_id.as_str()).filter(|id| !id.is_empty()),
        outcome: &evaluated.outcome,
        occurrence_time: time(&evaluated.occurrence_time),
        last_fired_at: time(&evaluated.last_fired_at),
        next_fire_at: time(&evaluated.next_fire_at),
    }
}
