//! The arguments that say which stretch of time to look at, and how to show it.

use clap::ValueEnum;
use jiff::Timestamp;
use perennial_calendar::{Spec, Zone};

use super::instant::{EndText, InstantText};
use crate::failure::Usage;

/// Which stretch of time, and how it is shown: the same for every command.
#[derive(Debug, clap::Args)]
pub(super) struct ViewArgs {
    /// Look at the times after this one; a date or time without an offset is on the spec's clock
    /// [default: now]
    #[arg(long, value_name = "TIME", help_heading = "Window")]
    from: Option<InstantText>,

    /// Look no further than this time (inclusive), or this long: 90m, 7d, P1M
    #[arg(long, value_name = "TIME|DURATION", help_heading = "Window")]
    pub(super) to: Option<EndText>,

    /// Also show the times that exclusions or clock changes took, and why
    #[arg(long, help_heading = "Output")]
    pub(super) show_left_out: bool,

    /// How to write the answer
    #[arg(
        long,
        short,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub(super) output: Format,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Table,
    /// One document
    Json,
    /// One object a line
    Jsonl,
}

/// The stretch of time to look at: after `from`, up to and including `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from: Timestamp,
    pub(super) from_now: bool,
    pub(super) to: Option<Timestamp>,
}

impl ViewArgs {
    pub(super) fn window(&self, spec: &Spec) -> anyhow::Result<Window> {
        let zone: &Zone = spec.zone();
        let from = match &self.from {
            Some(from) => from.on(zone)?,
            None => Timestamp::now(),
        };
        let to = self.to.as_ref().map(|to| to.on(zone, from)).transpose()?;
        if to.is_some_and(|to| to < from) {
            return Err(
                Usage::new("the window ends before it begins: --to is before --from").into()
            );
        }
        Ok(Window { from, from_now: self.from.is_none(), to })
    }
}
