//! Explains why a list of times is empty or short.

use jiff::{SignedDuration, Timestamp};
use perennial_calendar::{GaveUp, Search, Spec};

use super::view::Window;
use crate::output::distance;

/// Why a window has no times, and when the nearest one is.
pub(super) fn reason(spec: &Spec, window: Window) -> String {
    let show = |instant: Timestamp| spec.zone().at(instant).to_string();
    match spec.search(window.from) {
        Search::Found(next) => {
            let away = distance(&spec.zone().at(window.from), &spec.zone().at(next.nominal));
            format!("no times in this window; the next one is {}, {away} later", show(next.nominal))
        }
        Search::Never => {
            let up_to_now = window.from.saturating_add(SignedDuration::from_secs(1));
            match spec.search_back(up_to_now.unwrap_or(Timestamp::MAX)) {
                Ok(Some(last)) => {
                    format!("it fires no more; its last time was {}", show(last.nominal))
                }
                Ok(None) => "it never fires".to_owned(),
                Err(GaveUp) => "it fires no more".to_owned(),
            }
        }
        Search::NoneUpTo(instant) => none_up_to(spec, instant),
    }
}

/// Why a list has fewer times than requested.
pub(super) fn end_of_list(
    spec: &Spec,
    last: Timestamp,
    window: Window,
    asked: Option<u64>,
) -> Option<String> {
    match spec.search(last) {
        Search::Never => asked.map(|_| "that is all: it fires no more".to_owned()),
        Search::NoneUpTo(instant) if window.to.is_none_or(|to| to > instant) => {
            Some(none_up_to(spec, instant))
        }
        Search::Found(_) | Search::NoneUpTo(_) => None,
    }
}

fn none_up_to(spec: &Spec, instant: Timestamp) -> String {
    let local = spec.zone().at(instant);
    format!(
        "exclusions take every time up to {local}; the search stopped there; go on \
         with --from {instant}"
    )
}
