//! How urgent something is, when both it and what it belongs to say so.

use perennial_proto::temporal::common::v1::Priority;

/// What is said of the thing itself, filled in from what it belongs to.
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
