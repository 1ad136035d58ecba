//! `perennial schedule list-matching-times`.

use perennial_proto::temporal::workflowservice::v1::ListScheduleMatchingTimesRequest;

use super::id_args::ScheduleIdArgs;
use super::resolve_time;
use crate::input::InstantText;
use crate::output::{Column, Row, instant, stamp};
use crate::session::Session;

/// List the times of a schedule in a window, computed by the server
///
/// As in Temporal, the window excludes its start and includes its end. `schedule preview` and `schedule backfill`
/// include both.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Start of the window (exclusive); without an offset, in the schedule's time zone
    #[arg(long, value_name = "TIME")]
    start_time: InstantText,

    /// End of the window (inclusive)
    #[arg(long, value_name = "TIME")]
    end_time: InstantText,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule list-matching-times payroll --start-time 2026-11-01 --end-time 2026-12-01
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    let client = &session.client;
    let request = ListScheduleMatchingTimesRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        start_time: Some(stamp(resolve_time(&args.start_time, &id, client).await?)),
        end_time: Some(stamp(resolve_time(&args.end_time, &id, client).await?)),
    };
    let response = client.workflow().list_schedule_matching_times(request).await?.into_inner();
    session.output.message(&response, |output| {
        let times = output.times.clone();
        let found = response.start_time.iter().filter_map(|time| instant(Some(time)));
        let rows: Vec<Row> =
            found.map(|time| Row::from([times.clock(time), times.distance(time)])).collect();
        let columns = vec![Column::new(times.zone_name()), Column::new("Distance")];
        if rows.is_empty() {
            output.note("the schedule has no times in this window")?;
        }
        Ok(output.table(columns, rows)?)
    })
}
