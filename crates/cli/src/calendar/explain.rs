//! `perennial calendar explain`.

use std::io::{self, Write};

use jiff::civil::DateTime;
use perennial_calendar::Spec;
use serde::Serialize;

use super::canonical::Canonical;
use super::clock_changes::{self, Anomaly, Effect};
use super::event::Record;
use super::listing::{self, Limits};
use super::output::Output;
use super::spec_args::SpecArgs;
use super::view::{View, ViewArgs, Window};
use crate::output::{Format, printable, write_wrapped};
use crate::session::GlobalArgs;
use crate::terminal::{Look, Style, print_stderr};

/// Explain in words when a spec fires, with warnings
///
/// Shows the meaning in one sentence, warnings, the canonical form, the effects of the next clock
/// changes, and the next times.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    spec: SpecArgs,

    /// Number of next times to show; 0 for none
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5, help_heading = "Window")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    count: u64,

    #[command(flatten)]
    view: ViewArgs,
}

/// Maximum of `--count`: an explanation is one document, built in memory.
const COUNT_MAX: u64 = 10_000;

/// Times listed for each clock change.
const TIMES_LISTED_MAX: usize = 4;

const EXAMPLES: &str = r#"Examples:
  Is this every Monday that is the 13th, or every Monday and every 13th?
    perennial calendar explain '0 9 13 * MON'
    perennial calendar explain '0 9 13 * MON' --dialect classic

  Times in the night of a clock change
    perennial calendar explain '30 2 * * *' --tz Europe/Oslo
    perennial calendar explain '30 2 * * *' --tz Europe/Oslo --dst once

  For a program
    perennial calendar explain '0 0 31 * *' --output json
"#;

/// JSON output. Field names are a stable interface.
#[derive(Serialize)]
struct Report<'s> {
    sentence: String,
    warnings: Vec<String>,
    canonical: Canonical,
    clock_changes: Vec<Anomaly>,
    next: Vec<Record<'s>>,
}

pub(super) fn run(args: Args, global: &GlobalArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let spec = args.spec.compile()?;
    let window = args.view.window(&spec)?;
    let skipping = args.spec.compile_skipping_gaps()?;
    let mistakes = args.spec.mistakes();
    explain(&spec, &skipping, mistakes, window, args.count, args.view.view(global), out)
}

/// Explains a spec. `skipping` is the same spec with a policy that skips gaps. `mistakes` are likely mistakes in its
/// text.
pub(crate) fn explain(
    spec: &Spec,
    skipping: &Spec,
    mistakes: Vec<String>,
    window: Window,
    count: u64,
    view: View,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let explanation = spec.explain(window.from);
    let mut report = Report {
        sentence: explanation.sentence,
        warnings: mistakes
            .into_iter()
            .chain(explanation.warnings.iter().map(ToString::to_string))
            .collect(),
        canonical: Canonical::of(spec),
        clock_changes: clock_changes::anomalies(spec, skipping, window.from),
        next: Vec::new(),
    };
    let (events, remark) = listing::collect(spec, window, Limits::short(count), view)?;
    if view.format == Format::Table {
        write_text(&report, view.look, out)?;
        if count == 0 {
            return Ok(());
        }
        writeln!(out, "\n{}", view.look.paint(Style::Heading, "Next times"))?;
        let mut table = Output::new(spec, view, window, &mut *out);
        events.iter().try_for_each(|event| table.write(event))?;
        table.finish()?;
        return Ok(remark.map_or(Ok(()), |remark| write_wrapped("  ", &remark, view.look, out))?);
    }
    if let Some(remark) = remark {
        print_stderr(format_args!("{remark}"));
    }
    report.next = events.iter().map(|event| Record::new(event, spec)).collect();
    match view.format {
        Format::Json => serde_json::to_writer_pretty(&mut *out, &report)?,
        Format::Jsonl | Format::Table => serde_json::to_writer(&mut *out, &report)?,
        Format::None => return Ok(()),
    }
    Ok(writeln!(out)?)
}

fn write_text(report: &Report<'_>, look: Look, out: &mut impl Write) -> io::Result<()> {
    write_wrapped("", &report.sentence, look, out)?;
    if !report.warnings.is_empty() {
        writeln!(out, "\n{}", look.paint(Style::Warning, "Warnings"))?;
        for warning in &report.warnings {
            write_wrapped("  ", warning, look, out)?;
        }
    }
    writeln!(out, "\n{}", look.paint(Style::Heading, "Canonical form"))?;
    let lines = report.canonical.lines();
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in lines {
        writeln!(out, "  {name:width$}  {}", printable(value))?;
    }
    if !report.clock_changes.is_empty() {
        writeln!(out, "\n{}", look.paint(Style::Heading, "Clock changes"))?;
        for anomaly in &report.clock_changes {
            write_wrapped("  ", &describe(anomaly), look, out)?;
        }
    }
    Ok(())
}

/// `Sun 2026-10-25 03:00 → 02:00: fires twice at 02:30`.
fn describe(anomaly: &Anomaly) -> String {
    let clock = |time: &DateTime| match time.second() {
        0 => time.strftime("%H:%M").to_string(),
        _ => time.strftime("%H:%M:%S").to_string(),
    };
    let Anomaly { from, to, effect, count, times } = anomaly;
    let named: Vec<String> = times.iter().take(TIMES_LISTED_MAX).map(clock).collect();
    let mut named = named.join(", ");
    if *count > TIMES_LISTED_MAX {
        named.push_str(&format!(" and {} more", count - TIMES_LISTED_MAX));
    }
    let day = from.strftime("%a %Y-%m-%d");
    let new_day = match to.date() == from.date() {
        true => String::new(),
        false => to.strftime("%a %Y-%m-%d ").to_string(),
    };
    let change = format!("{day} {} → {new_day}{}", clock(from), clock(to));
    match effect {
        Effect::Skipped => format!("{change}: skips {named}"),
        Effect::Shifted => {
            let length = to.duration_since(*from);
            format!("{change}: fires {length:#} later for {named}")
        }
        Effect::FiresTwice => format!("{change}: fires twice at {named}"),
        Effect::FiresFirst => format!("{change}: fires only the first time at {named}"),
        Effect::FiresLast => format!("{change}: fires only the last time at {named}"),
    }
}
