//! `perennial schedule preview`.

use std::io::{self, BufWriter, Write};

use super::spec_of::{SpecOf, SpecOfArgs};
use crate::calendar::{Limits, ViewArgs, list_times};
use crate::session::{GlobalArgs, Session};
use crate::terminal::warn;

/// Show the next times of a schedule, or of one that isn't there yet
///
/// Flags beside the id of a schedule show what changing it would do. Times at --from and at --to are shown too;
/// `schedule list-matching-times` leaves the first one out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("from", |from| from.help(FROM).long_help(FROM)))]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) spec: SpecOfArgs,

    /// How many times to show
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Window")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    #[command(flatten)]
    view: ViewArgs,
}

const FROM: &str = "Look at this time and those after it; a date or time without an offset is on the spec's clock \
                    [default: now]";

const EXAMPLES: &str = r#"Examples:
  perennial schedule preview payroll --count 3
  perennial schedule preview payroll --time-zone America/New_York
  perennial schedule preview --cron '30 2 * * *' --time-zone Europe/Oslo --from 2027-03-27 --show-left-out
"#;

/// Of a spec that is typed.
pub(super) fn run_here(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let spec = args.spec.typed()?;
    write(&args, &spec, global)
}

pub(super) async fn run(
    args: Args,
    global: &GlobalArgs,
    session: &mut Session,
) -> anyhow::Result<()> {
    let spec = args.spec.of_schedule(&session.client).await?;
    write(&args, &spec, global)
}

fn write(args: &Args, of: &SpecOf, global: &GlobalArgs) -> anyhow::Result<()> {
    let window = args.view.window(&of.spec)?.with_its_beginning();
    let view = args.view.view(global);
    let limits = Limits::of(Some(args.count), window, view.format);
    let mut out = BufWriter::new(io::stdout());
    list_times(&of.spec, window, limits, view, &mut out)?;
    out.flush()?;
    warn(&args.spec.mistakes());
    Ok(())
}
