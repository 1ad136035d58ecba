//! Recurrence rules in words.

use crate::recurrence::Recurrence;

pub(super) fn phrase(_rule: &Recurrence) -> String {
    "by a rule".to_owned()
}

pub(super) fn comes_all_day(_rule: &Recurrence) -> bool {
    false
}

pub(super) fn short_months(_rule: &Recurrence) -> Option<super::warning::Warning> {
    None
}
