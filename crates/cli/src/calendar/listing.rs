//! Lists the times of a spec, with a note if the list is incomplete.

use std::io::Write;

use jiff::Timestamp;
use perennial_calendar::Spec;

use super::event::{Event, Fate};
use super::no_times;
use super::output::Output;
use super::view::{View, Window};
use crate::output::{Format, thousands};
use crate::terminal::print_stderr;

/// Rows of a table without `--count`.
const TABLE_ROWS_MAX: u64 = 1_000;

/// Without an end of the window, the list stops after this many times in a row were left out.
const LEFT_OUT_MAX: u64 = 1_000;

/// Times beyond the end of a table are counted up to this number.
const UNSHOWN_COUNTED_MAX: usize = 1_000_000;

/// Limits of a list, besides the end of its window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Number of times requested.
    count: Option<u64>,
    rows_max: Option<u64>,
    left_out_max: Option<u64>,
}

/// Summary of a written list.
struct ListSummary {
    fires: u64,
    left_out: u64,
    /// The last time listed, or the start of the window.
    last: Timestamp,
    ended: Ended,
}

/// Why a list ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// There are no more times, or none in the window.
    Exhausted,
    /// The list has the requested number of times.
    Complete,
    TooManyRows,
    TooManyLeftOut,
}

impl Limits {
    pub(crate) fn of(count: Option<u64>, window: Window, format: Format) -> Self {
        let unlimited_table = format != Format::Table || count.is_some();
        Limits {
            count,
            rows_max: (!unlimited_table).then_some(TABLE_ROWS_MAX),
            left_out_max: window.to.is_none().then_some(LEFT_OUT_MAX),
        }
    }

    /// Limits of a list in memory.
    pub(crate) fn short(count: u64) -> Self {
        Limits { count: Some(count), rows_max: None, left_out_max: Some(LEFT_OUT_MAX) }
    }
}

/// Writes the times of a window. A note about an incomplete list goes to standard error.
pub(crate) fn write(
    spec: &Spec,
    window: Window,
    limits: Limits,
    view: View,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut output = Output::new(spec, view, window, &mut *out);
    let walked = walk(spec, window, limits, view, |event| output.write(&event))?;
    output.finish()?;
    // Flush first, to keep the order on a terminal.
    out.flush()?;
    if let Some(note) = walked.note(spec, window, limits) {
        print_stderr(format_args!("{note}"));
    }
    Ok(())
}

/// Collects the times in memory, with the note.
pub(crate) fn collect(
    spec: &Spec,
    window: Window,
    limits: Limits,
    view: View,
) -> anyhow::Result<(Vec<Event>, Option<String>)> {
    let mut events = Vec::new();
    let walked = walk(spec, window, limits, view, |event| {
        events.push(event);
        Ok(())
    })?;
    Ok((events, walked.note(spec, window, limits)))
}

fn walk(
    spec: &Spec,
    window: Window,
    limits: Limits,
    view: View,
    mut take: impl FnMut(Event) -> anyhow::Result<()>,
) -> anyhow::Result<ListSummary> {
    let mut walked =
        ListSummary { fires: 0, left_out: 0, last: window.from, ended: Ended::Exhausted };
    if limits.count == Some(0) {
        return Ok(ListSummary { ended: Ended::Complete, ..walked });
    }
    for event in events(spec, window, view.show_left_out) {
        if limits.rows_max.is_some_and(|most| walked.fires + walked.left_out == most) {
            walked.ended = Ended::TooManyRows;
            break;
        }
        walked.last = event.nominal;
        match event.fate {
            Fate::Fires { .. } => walked.fires += 1,
            Fate::LeftOut { .. } => walked.left_out += 1,
        }
        take(event)?;
        if limits.count == Some(walked.fires) {
            walked.ended = Ended::Complete;
            break;
        }
        if limits.left_out_max.is_some_and(|most| walked.left_out == most) {
            walked.ended = Ended::TooManyLeftOut;
            break;
        }
    }
    Ok(walked)
}

/// The times of the window, with those left out if requested.
fn events(
    spec: &Spec,
    window: Window,
    show_left_out: bool,
) -> Box<dyn Iterator<Item = Event> + '_> {
    let to = window.to.unwrap_or(Timestamp::MAX);
    if show_left_out {
        return Box::new(spec.trace(window.from, to).map(|traced| Event::new(traced, spec)));
    }
    Box::new(spec.between(window.from, to).map(Event::from))
}

impl ListSummary {
    /// A note if the list is incomplete or empty.
    fn note(&self, spec: &Spec, window: Window, limits: Limits) -> Option<String> {
        match self.ended {
            Ended::Complete => None,
            Ended::Exhausted if self.fires == 0 => Some(no_times::reason(spec, window)),
            Ended::Exhausted => no_times::end_of_list(spec, self.last, window, limits.count),
            Ended::TooManyRows => Some(unshown(spec, self.last, window)),
            Ended::TooManyLeftOut => Some(format!(
                "stopped after {} times that were left out; --to sets an end of your own",
                thousands(self.left_out)
            )),
        }
    }
}

fn unshown(spec: &Spec, last: Timestamp, window: Window) -> String {
    let rest = spec.between(last, window.to.unwrap_or(Timestamp::MAX));
    let count = rest.take(UNSHOWN_COUNTED_MAX + 1).count();
    let (more_than, count) = match count > UNSHOWN_COUNTED_MAX {
        true => ("more than ", UNSHOWN_COUNTED_MAX),
        false => ("", count),
    };
    format!(
        "and {more_than}{} times more; --count N shows N of them, --output jsonl all",
        thousands(count as u64)
    )
}
