//! `perennial schedule explain`.

use std::io::{self, BufWriter, Write};

use super::spec_source::{CompiledSpecs, SpecSourceArgs};
use crate::calendar::{self, ViewArgs};
use crate::session::{GlobalArgs, Session};

/// Explain in words when a schedule or a spec fires, with warnings
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) spec: SpecSourceArgs,

    /// Number of next times to show; 0 for none
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Window")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=10_000))]
    count: u64,

    #[command(flatten)]
    view: ViewArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule explain payroll
  perennial schedule explain --cron '0 2 L * *' --time-zone Europe/Oslo
  perennial schedule explain --calendar '{"dayOfWeek":"Fri","hour":"17"}' --interval 5h/15m
"#;

/// Explains a spec given by flags, without a server.
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
    let window = args.view.window(&specs.spec)?;
    let view = args.view.view(global);
    let mut out = BufWriter::new(io::stdout());
    let mistakes = args.spec.mistakes();
    calendar::explain(&specs.spec, &specs.skipping, mistakes, window, args.count, view, &mut out)?;
    Ok(out.flush()?)
}
