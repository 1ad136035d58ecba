//! Short names of enum values.

/// `TimedOut` for `WORKFLOW_EXECUTION_STATUS_TIMED_OUT` and its prefix `WORKFLOW_EXECUTION_STATUS_`.
pub(crate) fn short_name(name: &str, prefix: &str) -> String {
    let name = name.strip_prefix(prefix).unwrap_or(name);
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_uppercase() + &rest.to_lowercase()
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_prefix_and_their_dashes() {
        assert_eq!(short_name("EVENT_TYPE_TIMER_FIRED", "EVENT_TYPE_"), "TimerFired");
        assert_eq!(short_name("RUNNING", "EVENT_TYPE_"), "Running");
        assert_eq!(short_name("", ""), "");
    }
}
