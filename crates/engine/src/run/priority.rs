//! Priorities: an activity or child inherits from its workflow what it doesn't set itself.

use perennial_proto::temporal::common::v1::Priority;

/// `own`, with missing fields filled in from `of_whole`.
pub(crate) fn merge(of_whole: Option<&Priority>, own: Option<&Priority>) -> Option<Priority> {
    let (Some(whole), Some(own)) = (of_whole, own) else { return own.or(of_whole).cloned() };
    let mut merged = own.clone();
    if merged.priority_key == 0 {
        merged.priority_key = whole.priority_key;
    }
    if merged.fairness_key.is_empty() {
        merged.fairness_key.clone_from(&whole.fairness_key);
    }
    if merged.fairness_weight == 0.0 {
        merged.fairness_weight = whole.fairness_weight;
    }
    Some(merged)
}
