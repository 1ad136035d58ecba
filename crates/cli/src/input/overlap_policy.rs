//! Short names of enum values: `BufferAll` for `SCHEDULE_OVERLAP_POLICY_BUFFER_ALL`.

use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

/// Names of overlap policies, as in Temporal's command line.
const OVERLAP_POLICIES: [(&str, ScheduleOverlapPolicy); 6] = [
    ("Skip", ScheduleOverlapPolicy::Skip),
    ("BufferOne", ScheduleOverlapPolicy::BufferOne),
    ("BufferAll", ScheduleOverlapPolicy::BufferAll),
    ("CancelOther", ScheduleOverlapPolicy::CancelOther),
    ("TerminateOther", ScheduleOverlapPolicy::TerminateOther),
    ("AllowAll", ScheduleOverlapPolicy::AllowAll),
];

/// Parses an overlap policy, in any case, with or without dashes.
pub(crate) fn overlap_policy(text: &str) -> Result<ScheduleOverlapPolicy, String> {
    let wanted = bare(text);
    let found = OVERLAP_POLICIES.iter().find(|(name, _)| bare(name) == wanted);
    found.map(|&(_, policy)| policy).ok_or_else(|| {
        let names: Vec<&str> = OVERLAP_POLICIES.iter().map(|(name, _)| *name).collect();
        format!("write one of {}", names.join(", "))
    })
}

/// The name of an overlap policy.
pub(crate) fn overlap_policy_name(policy: i32) -> &'static str {
    let found = OVERLAP_POLICIES.iter().find(|(_, known)| *known as i32 == policy);
    found.map_or("Skip", |(name, _)| name)
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_in_any_spelling() {
        assert_eq!(overlap_policy("BufferAll"), Ok(ScheduleOverlapPolicy::BufferAll));
        assert_eq!(overlap_policy("buffer-all"), Ok(ScheduleOverlapPolicy::BufferAll));
        assert_eq!(overlap_policy("BUFFER_ALL"), Ok(ScheduleOverlapPolicy::BufferAll));
        assert!(overlap_policy("all").unwrap_err().starts_with("write one of Skip,"));
    }
}
