//! Arguments for the window of time and for its display.

use jiff::{SignedDuration, Timestamp};
use perennial_calendar::{Spec, Zone};

use crate::failure::Usage;
use crate::input::{EndText, InstantText};
use crate::output::Format;
use crate::session::GlobalArgs;
use crate::terminal::Look;

/// The window of time and its display, the same for every calendar command.
#[derive(Debug, clap::Args)]
pub(crate) struct ViewArgs {
    /// Start of the window (exclusive); without an offset, in the spec's time zone [default: now]
    #[arg(long, value_name = "TIME", help_heading = "Window")]
    from: Option<InstantText>,

    /// End of the window (inclusive), or its length: 90m, 7d, P1M
    #[arg(long, value_name = "TIME|DURATION", help_heading = "Window")]
    pub(crate) to: Option<EndText>,

    /// Also show times removed by exclusions or clock changes, and why
    #[arg(long, help_heading = "Output")]
    pub(crate) show_left_out: bool,
}

/// Format and appearance of the times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) format: Format,
    pub(crate) look: Look,
    pub(crate) show_left_out: bool,
}

/// A window of time: after `from`, up to and including `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: Timestamp,
    pub(crate) from_now: bool,
    pub(crate) to: Option<Timestamp>,
}

impl Window {
    /// The same window including its start, if `--from` was given.
    pub(crate) fn including_start(self) -> Self {
        let just_before = self.from.checked_sub(SignedDuration::from_nanos(1));
        match self.from_now {
            true => self,
            false => Window { from: just_before.unwrap_or(self.from), ..self },
        }
    }
}

impl ViewArgs {
    pub(crate) fn view(&self, global: &GlobalArgs) -> View {
        View {
            format: global.output,
            look: Look::of_stdout(global.color),
            show_left_out: self.show_left_out,
        }
    }

    pub(crate) fn window(&self, spec: &Spec) -> anyhow::Result<Window> {
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
