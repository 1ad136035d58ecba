//! `perennial calendar next`.

use std::io::Write;

use super::listing::{self, Limits};
use super::spec_args::SpecArgs;
use super::view::ViewArgs;
use crate::session::GlobalArgs;
use crate::terminal::warn;

/// Show the next times of a spec
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    spec: SpecArgs,

    /// Number of times to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5, help_heading = "Window")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    #[command(flatten)]
    view: ViewArgs,
}

const EXAMPLES: &str = r#"Examples:
  Weekdays at nine in Oslo
    perennial calendar next --tz Europe/Oslo '0 9 * * MON-FRI'

  The last Friday of the month, and every quarter of an hour on Mondays, but not at Christmas
    perennial calendar next '0 17 * * FRIL' '*/15 * * * MON' --exclude '* * * 24-26 12 * *'

  Times around a clock change, with those left out
    perennial calendar next --tz America/New_York '30 2 * * *' --from 2026-03-06 --show-left-out

  For a script
    perennial calendar next @hourly --count 1 --output jsonl | jq -r .nominal
"#;

pub(super) fn run(args: Args, global: &GlobalArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let spec = args.spec.compile()?;
    let window = args.view.window(&spec)?;
    let view = args.view.view(global);
    let limits = Limits::of(Some(args.count), window, view.format);
    listing::write(&spec, window, limits, view, out)?;
    warn(&args.spec.mistakes());
    Ok(())
}
