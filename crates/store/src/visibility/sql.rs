//! SQL that all databases share: columns, and pieces of conditions.

/// Columns of the table, without those of attributes, in the order in which rows are written.
pub(super) const COLUMNS: [&str; 20] = [
    "run_key",
    "namespace",
    "workflow_id",
    "run_id",
    "workflow_type",
    "task_queue",
    "status",
    "start_time",
    "execution_time",
    "close_time",
    "execution_duration",
    "history_length",
    "history_size_bytes",
    "state_transition_count",
    "parent_workflow_id",
    "parent_run_id",
    "root_workflow_id",
    "root_run_id",
    "memo",
    "search_attributes",
];

/// Columns that never change. An update leaves them out, and so doesn't touch their indexes.
pub(super) const FIXED_COLUMNS: [&str; 6] =
    ["run_key", "namespace", "workflow_id", "run_id", "parent_workflow_id", "parent_run_id"];

/// The columns that lists read, in their order.
pub(super) const LISTED_COLUMNS: &str = "run_key, workflow_id, run_id, workflow_type, task_queue, \
     status, start_time, execution_time, close_time, execution_duration, history_length, \
     history_size_bytes, state_transition_count, parent_workflow_id, parent_run_id, \
     root_workflow_id, root_run_id, memo, search_attributes";

/// Close time in the order of lists. The indexes in `create_table.sql` have the same words.
pub(super) const CLOSE_ORDER: &str = "coalesce(close_time, 9223372036854775807)";

/// Joins conditions as a balanced tree: databases refuse chains that are too deep, which the language allows.
pub(super) fn joined(terms: &[String], operator: &str) -> String {
    match terms {
        [] => String::new(),
        [only] => only.clone(),
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            format!("({} {operator} {})", joined(left, operator), joined(right, operator))
        }
    }
}

/// The least text that is greater than all that begin with `prefix`, if there is one.
pub(super) fn first_after(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // A range of characters steps over those that are none.
        if let Some(next) = (last..=char::MAX).nth(1) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_after_a_prefix_steps_over_what_is_no_character() {
        assert_eq!(first_after("ab").as_deref(), Some("ac"));
        assert_eq!(first_after("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(first_after("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(first_after("\u{10ffff}"), None);
        assert_eq!(first_after(""), None);
    }
}
