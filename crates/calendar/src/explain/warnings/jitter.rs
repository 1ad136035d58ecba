//! Warns about jitter that is longer than the distance between two times.

use jiff::Timestamp;

use crate::explain::warning::Warning;
use crate::spec::Spec;

/// Number of future times examined.
const TIMES_MAX: usize = 32;

pub(super) fn of(spec: &Spec, now: Timestamp) -> Option<Warning> {
    let jitter = spec.definition().jitter;
    if jitter.is_zero() {
        return None;
    }
    let times: Vec<Timestamp> = spec.after(now).take(TIMES_MAX).map(|t| t.nominal).collect();
    times.windows(2).find_map(|pair| {
        let distance = pair[1].as_second().abs_diff(pair[0].as_second());
        (jitter.as_secs_f64() > distance as f64)
            .then(|| Warning::JitterCut { distance, local: spec.zone().at(pair[0]).datetime() })
    })
}
