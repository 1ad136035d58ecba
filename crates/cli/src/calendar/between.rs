//! `perennial calendar between`.

use std::io::Write;

use super::listing::{self, Limits};
use super::spec_args::SpecArgs;
use super::view::ViewArgs;
use crate::failure::Usage;
use crate::session::GlobalArgs;
use crate::terminal::warn;

/// List every time of a spec in a window
///
/// The window excludes --from and includes --to. It needs an end: --to, --count or --end. A table stops after
/// 1,000 rows unless --count is larger; json and jsonl have no limit.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    spec: SpecArgs,

    /// List at most this many times
    #[arg(long, short = 'n', value_name = "N", help_heading = "Window")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    view: ViewArgs,
}

const EXAMPLES: &str = r#"Examples:
  The coming week
    perennial calendar between '0 9,17 * * *' --tz Asia/Tokyo --to 7d

  A year, with the holidays that were left out
    perennial calendar between '0 9 1 * *' --from 2026-01-01 --to 2027-01-01 \
      --define holidays='* * * 1 1,5 * *' --exclude holidays --show-left-out

  How often does it fire in a year?
    perennial calendar between '*/7 * * * *' --to 365d --output jsonl | wc -l
"#;

pub(super) fn run(args: Args, global: &GlobalArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let spec = args.spec.compile()?;
    let window = args.view.window(&spec)?;
    let view = args.view.view(global);
    if window.to.is_none() && args.count.is_none() && spec.definition().end.is_none() {
        return Err(Usage::new("the window has no end; give --to or --count").into());
    }
    let limits = Limits::of(args.count, window, view.format);
    listing::write(&spec, window, limits, view, out)?;
    warn(&args.spec.mistakes());
    Ok(())
}
