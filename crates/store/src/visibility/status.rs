//! The names and numbers of a run's status.

use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus as Status;

/// The number of a status given by name, short (`TimedOut`) or as in the protocol.
pub(super) fn number_of(name: &str) -> Option<i32> {
    known()
        .find(|status| short_name(*status) == name || status.as_str_name() == name)
        .map(i32::from)
}

/// The short name of a status given by number.
pub(super) fn name_of(number: i64) -> Option<&'static str> {
    known().find(|status| i64::from(i32::from(*status)) == number).map(short_name)
}

fn known() -> impl Iterator<Item = Status> {
    (0..).map_while(|number| Status::try_from(number).ok())
}

fn short_name(status: Status) -> &'static str {
    match status {
        Status::Unspecified => "Unspecified",
        Status::Running => "Running",
        Status::Completed => "Completed",
        Status::Failed => "Failed",
        Status::Canceled => "Canceled",
        Status::Terminated => "Terminated",
        Status::ContinuedAsNew => "ContinuedAsNew",
        Status::TimedOut => "TimedOut",
        Status::Paused => "Paused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_goes_by_either_name_and_by_number() {
        assert_eq!(number_of("TimedOut"), Some(7));
        assert_eq!(number_of("WORKFLOW_EXECUTION_STATUS_TIMED_OUT"), Some(7));
        assert_eq!(number_of("timedout"), None);
        assert_eq!(name_of(8), Some("Paused"));
        assert_eq!(name_of(9), None);
        assert_eq!(name_of(4_294_967_297), None);
    }
}
