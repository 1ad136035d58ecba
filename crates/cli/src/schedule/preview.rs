//! `perennial schedule preview`.

use std::io::{self, BufWriter, Write};

use super::spec_source::{CompiledSpecs, SpecSourceArgs};
use crate::calendar::{Limits, ViewArgs, list_times};
use crate::session::{GlobalArgs, Session};
use crate::terminal::warn;

/// Show the next times of a schedule or of a spec
///
/// With a schedule id and flags, shows the times after such a change. The window includes --from and --to;
/// `schedule list-matching-times` excludes its start.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("from", |from| from.help(FROM).long_help(FROM)))]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) spec: SpecSourceArgs,

    /// Number of times to show
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Window")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    #[command(flatten)]
    view: ViewArgs,
}

const FROM: &str = "Start of the window (inclusive); without an offset, in the spec's time zone \
                    [default: now]";

const EXAMPLES: &str = r#"Examples:
  perennial schedule preview payroll --count 3
  perennial schedule preview payroll --time-zone America/New_York
  perennial schedule preview --cron '30 2 * * *' --time-zone Europe/Oslo --from 2027-03-27 --show-left-out
"#;

/// Previews a spec given by flags, without a server.
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

fn write(args: &Args, specs: &CompiledSpecs, global: &GlobalArgs) -> anyhow::Result<()> {
    let window = args.view.window(&specs.spec)?.including_start();
    let view = args.view.view(global);
    let limits = Limits::of(Some(args.count), window, view.format);
    let mut out = BufWriter::new(io::stdout());
    list_times(&specs.spec, window, limits, view, &mut out)?;
    out.flush()?;
    warn(&args.spec.mistakes());
    Ok(())
}
