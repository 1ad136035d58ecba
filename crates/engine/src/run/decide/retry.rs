//! Retry policies: whether there is another attempt, and when.

use perennial_proto::Duration;
use perennial_proto::temporal::common::v1::RetryPolicy;
use perennial_proto::temporal::enums::v1::{RetryState, TimeoutType};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;

use crate::{Span, Time, checked_duration};

/// What follows after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Another attempt.
    Retry {
        /// When the next attempt is due.
        at: Time,
        /// The backoff after the failure.
        interval: Span,
    },
    /// No further attempt, with the reason.
    Final(RetryState),
}

/// Applies `policy` to attempt number `attempt`, which ended with `failure` at `now`.
pub(super) fn ending(
    policy: Option<&RetryPolicy>,
    attempt: i32,
    failure: Option<&Failure>,
    now: Time,
    expires_at: Option<Time>,
) -> Ending {
    let Some(policy) = policy else { return Ending::Final(RetryState::RetryPolicyNotSet) };
    if failure.is_some_and(|failure| !is_retryable(failure, &policy.non_retryable_error_types)) {
        return Ending::Final(RetryState::NonRetryableFailure);
    }
    if policy.maximum_attempts > 0 && attempt >= policy.maximum_attempts {
        return Ending::Final(RetryState::MaximumAttemptsReached);
    }
    let interval = failure.and_then(requested_delay).unwrap_or_else(|| backoff(policy, attempt));
    let maximum = Span::of(policy.maximum_interval.as_ref()).get();
    let interval = maximum.map_or(interval, |maximum| match interval.get() {
        Some(interval) => interval.min(maximum),
        None => maximum,
    });
    let at = now.after(interval);
    if expires_at.is_some_and(|expires_at| at > expires_at) {
        return Ending::Final(RetryState::Timeout);
    }
    Ending::Retry { at, interval }
}

/// The backoff after attempt number `attempt`: exponential, up to the maximum.
fn backoff(policy: &RetryPolicy, attempt: i32) -> Span {
    let initial = Span::of(policy.initial_interval.as_ref()).get().unwrap_or(Span::seconds(1));
    let coefficient =
        if policy.backoff_coefficient >= 1.0 { policy.backoff_coefficient } else { 2.0 };
    let maximum = Span::of(policy.maximum_interval.as_ref())
        .get()
        .unwrap_or(Span(initial.0.saturating_mul(100)));
    let grown = initial.0 as f64 * coefficient.powi(attempt.max(1) - 1);
    if grown.is_finite() && grown < maximum.0 as f64 { Span(grown as i64) } else { maximum }
}

/// The retry delay that the worker asked for, if it did.
fn requested_delay(failure: &Failure) -> Option<Span> {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => {
            info.next_retry_delay.as_ref().map(|delay| Span::of(Some(delay)))
        }
        _ => None,
    }
}

fn is_retryable(failure: &Failure, non_retryable_types: &[String]) -> bool {
    match &failure.failure_info {
        Some(FailureInfo::TerminatedFailureInfo(_) | FailureInfo::CanceledFailureInfo(_)) => false,
        Some(FailureInfo::TimeoutFailureInfo(info)) => {
            let of_attempt =
                matches!(info.timeout_type(), TimeoutType::StartToClose | TimeoutType::Heartbeat);
            let name = match info.timeout_type() {
                TimeoutType::StartToClose => "TemporalTimeout:StartToClose",
                TimeoutType::Heartbeat => "TemporalTimeout:Heartbeat",
                _ => "",
            };
            of_attempt && !non_retryable_types.iter().any(|kind| kind == name)
        }
        Some(FailureInfo::ServerFailureInfo(info)) => !info.non_retryable,
        Some(FailureInfo::ApplicationFailureInfo(info)) => {
            !info.non_retryable && !non_retryable_types.contains(&info.r#type)
        }
        _ => true,
    }
}

/// A retry policy with its defaults filled in.
pub(crate) fn complete_policy(mut policy: RetryPolicy) -> RetryPolicy {
    if Span::of(policy.initial_interval.as_ref()) == Span::ZERO {
        policy.initial_interval = Some(Span::seconds(1).into());
    }
    let initial = Span::of(policy.initial_interval.as_ref());
    if policy.backoff_coefficient == 0.0 {
        policy.backoff_coefficient = 2.0;
    }
    if Span::of(policy.maximum_interval.as_ref()) == Span::ZERO {
        policy.maximum_interval = Some(Span(initial.0.saturating_mul(100)).into());
    }
    policy
}

/// The error in a retry policy, if there is one. Zero means the default.
pub(super) fn policy_error(policy: &RetryPolicy) -> Option<String> {
    checked_retry_policy(policy.clone()).err()
}

/// Checks a retry policy and fills in defaults: the same rules for workflows, activities and schedules.
///
/// # Errors
/// The first error, by field.
pub fn checked_retry_policy(policy: RetryPolicy) -> Result<RetryPolicy, String> {
    let mut policy = complete_policy(policy);
    if policy.maximum_attempts == 1 {
        // Without a second attempt the other fields have no meaning, so they aren't checked.
        return Ok(policy);
    }
    let interval = |duration: &Option<Duration>, name| {
        checked_duration(duration.as_ref())
            .map_err(|cause| format!("invalid {name} set on retry policy: {cause}"))
    };
    policy.initial_interval = interval(&policy.initial_interval, "InitialInterval")?;
    if policy.backoff_coefficient < 1.0 || policy.backoff_coefficient.is_nan() {
        return Err("BackoffCoefficient cannot be less than 1 on retry policy.".to_owned());
    }
    policy.maximum_interval = interval(&policy.maximum_interval, "MaximumInterval")?;
    if Span::of(policy.maximum_interval.as_ref()) < Span::of(policy.initial_interval.as_ref()) {
        let why = "MaximumInterval cannot be less than InitialInterval on retry policy.";
        return Err(why.to_owned());
    }
    if policy.maximum_attempts < 0 {
        return Err("MaximumAttempts cannot be negative on retry policy.".to_owned());
    }
    for error_type in &policy.non_retryable_error_types {
        if let Some(name) = error_type.strip_prefix("TemporalTimeout:")
            && !is_timeout_type(name)
        {
            return Err(format!("Invalid timeout type value: {name}."));
        }
    }
    Ok(policy)
}

/// `TemporalTimeout:StartToClose`, or the full name of the enum's value.
fn is_timeout_type(name: &str) -> bool {
    ["StartToClose", "ScheduleToStart", "ScheduleToClose", "Heartbeat"].contains(&name)
        || TimeoutType::from_str_name(name).is_some_and(|kind| kind != TimeoutType::Unspecified)
}

/// The run timeout, limited by the execution timeout; equal to it if none is given.
pub(super) fn run_timeout(run: Span, execution: Span) -> Span {
    match (run.get(), execution.get()) {
        (Some(run), Some(execution)) => run.min(execution),
        (run, execution) => run.or(execution).unwrap_or(Span::ZERO),
    }
}
