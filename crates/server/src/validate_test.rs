//! Each check refuses what Temporal's server refuses, with its message.

use perennial_engine::{Span, checked_duration};
use perennial_proto::Duration;
use perennial_proto::temporal::common::v1::{
    Payload, Payloads, Priority, RetryPolicy, WorkflowExecution,
};
use perennial_proto::temporal::enums::v1::{
    TaskQueueKind, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;

use crate::errors::RpcResult;
use crate::validate;

fn message<T: std::fmt::Debug>(result: RpcResult<T>) -> String {
    let status = result.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    status.message().to_owned()
}

fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

#[test]
fn workflow_ids_are_there_and_not_too_long() {
    assert_eq!(message(validate::workflow_id("")), "WorkflowId is not set on request.");
    assert_eq!(
        message(validate::workflow_id(&"x".repeat(1_001))),
        "WorkflowId exceeds maximum allowed length (1001/1000)"
    );
    validate::workflow_id(&"x".repeat(1_000)).unwrap();
}

#[test]
fn runs_are_named_by_workflow_id_and_uuid() {
    let named = |workflow_id: &str, run_id: &str| {
        validate::execution(Some(WorkflowExecution {
            workflow_id: workflow_id.to_owned(),
            run_id: run_id.to_owned(),
        }))
    };
    named("order", "").unwrap();
    named("order", "01a1e1d2-dc37-77d5-82ba-7595fd32cd35").unwrap();
    assert_eq!(message(named("", "")), "WorkflowId is not set on request.");
    for bad in ["x", "01a1e1d2-dc37-77d5-82ba-7595fd32cd3", "01a1e1d2xdc37-77d5-82ba-7595fd32cd35"]
    {
        assert_eq!(message(named("order", bad)), "Invalid RunId.", "{bad}");
    }
    assert_eq!(message(validate::execution(None)), "Execution is not set on request.");
}

#[test]
fn task_queues_have_a_name_that_is_not_reserved() {
    let queue = |name: &str| {
        validate::task_queue(Some(TaskQueue { name: name.to_owned(), ..TaskQueue::default() }))
    };
    assert_eq!(queue("q").unwrap().kind(), TaskQueueKind::Normal);
    assert_eq!(message(validate::task_queue(None)), "taskQueue is not set");
    assert_eq!(message(queue("")), "missing task queue name");
    assert_eq!(message(queue(&"x".repeat(1_001))), "taskQueue length exceeds limit");
    assert_eq!(
        message(queue("/_sys/q/1")),
        "task queue name cannot start with reserved prefix /_sys/"
    );
}

#[test]
fn durations_are_neither_negative_nor_too_long() {
    assert_eq!(checked_duration(None), Ok(None));
    assert_eq!(checked_duration(Some(&seconds(5))), Ok(Some(seconds(5))));
    assert_eq!(checked_duration(Some(&seconds(i64::MAX))), Ok(Some(seconds(3_153_600_000))));
    assert_eq!(checked_duration(Some(&seconds(-5))), Err("negative duration"));
    let mixed = Duration { seconds: 1, nanos: -1 };
    assert_eq!(
        checked_duration(Some(&mixed)),
        Err("duration has seconds and nanos with different signs")
    );
}

#[test]
fn retry_policy_gets_the_defaults_it_leaves_out() {
    assert_eq!(validate::retry_policy(None).unwrap(), None);
    let policy = validate::retry_policy(Some(RetryPolicy::default())).unwrap().unwrap();
    assert_eq!(policy.initial_interval, Some(seconds(1)));
    assert_eq!(policy.maximum_interval, Some(seconds(100)));
    assert_eq!((policy.backoff_coefficient, policy.maximum_attempts), (2.0, 0));

    let slow = RetryPolicy { initial_interval: Some(seconds(5)), ..RetryPolicy::default() };
    let policy = validate::retry_policy(Some(slow)).unwrap().unwrap();
    assert_eq!(Span::of(policy.maximum_interval.as_ref()), Span::seconds(500));
}

#[test]
fn bad_retry_policies_are_refused_by_field() {
    let policy = |change: fn(&mut RetryPolicy)| {
        let mut policy = RetryPolicy::default();
        change(&mut policy);
        validate::retry_policy(Some(policy))
    };
    assert_eq!(
        message(policy(|policy| policy.initial_interval = Some(seconds(-1)))),
        "invalid InitialInterval set on retry policy: negative duration"
    );
    assert_eq!(
        message(policy(|policy| policy.maximum_interval = Some(seconds(-1)))),
        "invalid MaximumInterval set on retry policy: negative duration"
    );
    for coefficient in ["0.5", "-1", "nan"] {
        let bad = RetryPolicy {
            backoff_coefficient: coefficient.parse().unwrap(),
            ..RetryPolicy::default()
        };
        assert_eq!(
            message(validate::retry_policy(Some(bad))),
            "BackoffCoefficient cannot be less than 1 on retry policy.",
            "{coefficient}"
        );
    }
    assert_eq!(
        message(policy(|policy| {
            policy.initial_interval = Some(seconds(5));
            policy.maximum_interval = Some(seconds(4));
        })),
        "MaximumInterval cannot be less than InitialInterval on retry policy."
    );
    assert_eq!(
        message(policy(|policy| policy.maximum_attempts = -1)),
        "MaximumAttempts cannot be negative on retry policy."
    );
    assert_eq!(
        message(policy(|policy| {
            policy.non_retryable_error_types = vec!["TemporalTimeout:Coffee".to_owned()];
        })),
        "Invalid timeout type value: Coffee."
    );
    // With one attempt, nothing else is checked.
    policy(|policy| {
        policy.maximum_attempts = 1;
        policy.backoff_coefficient = 0.1;
    })
    .unwrap();
}

#[test]
fn priorities_are_positive_and_their_keys_short() {
    let priority = |priority: Priority| validate::priority(Some(&priority));
    priority(Priority { priority_key: 1, ..Priority::default() }).unwrap();
    assert_eq!(
        message(priority(Priority { priority_key: -1, ..Priority::default() })),
        "priority key can't be negative"
    );
    assert_eq!(
        message(priority(Priority { fairness_key: "x".repeat(65), ..Priority::default() })),
        "fairness key length exceeds limit"
    );
}

#[test]
#[allow(deprecated, reason = "older clients still send it")]
fn policies_for_a_taken_id_do_not_contradict() {
    use {WorkflowIdConflictPolicy as Conflict, WorkflowIdReusePolicy as Reuse};
    validate::id_policies(Reuse::AllowDuplicate, Conflict::TerminateExisting).unwrap();
    validate::id_policies(Reuse::TerminateIfRunning, Conflict::Unspecified).unwrap();
    assert_eq!(
        message(validate::id_policies(Reuse::TerminateIfRunning, Conflict::Fail)),
        "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be \
         used together with a WorkflowIDConflictPolicy"
    );
    assert_eq!(
        message(validate::id_policies(Reuse::RejectDuplicate, Conflict::TerminateExisting)),
        "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot be used \
         together with WorkflowIdConflictPolicy WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING"
    );
}

#[test]
fn payloads_have_a_largest_size() {
    let payloads = |bytes| {
        let payload = Payload { data: vec![0; bytes], ..Payload::default() };
        Payloads { payloads: vec![payload] }
    };
    validate::blob(Some(&payloads(10)), 100).unwrap();
    assert_eq!(message(validate::blob(Some(&payloads(100)), 100)), "Blob data size exceeds limit.");
}
