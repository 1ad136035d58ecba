//! Temporal's dynamic configuration: the keys that mean something here.

use std::time::Duration;

use perennial_engine::Span;
use perennial_library::{Limits, ServerConfig};
use serde_json::Value;

use super::pair::ConfigValue;
use crate::failure::Usage;

/// Applies the values whose keys are known; returns the keys that aren't, for the log.
pub(super) fn apply(
    values: &[ConfigValue],
    limits: &mut Limits,
    server: &mut ServerConfig,
) -> Result<Vec<String>, Usage> {
    let mut unknown = Vec::new();
    for given in values {
        // Temporal doesn't tell upper case from lower case in these.
        let key = given.key.to_lowercase();
        match key.as_str() {
            "limit.historycount.suggestcontinueasnew" => {
                limits.suggest_continue_events = count(given)?;
            }
            "limit.historysize.suggestcontinueasnew" => {
                limits.suggest_continue_bytes = count(given)?;
            }
            "limit.historycount.warn" => limits.warn_events = count(given)?,
            "limit.historysize.warn" => limits.warn_bytes = count(given)?,
            "limit.historycount.error" => limits.history_events = count(given)?,
            "limit.historysize.error" => limits.history_bytes = count(given)?,
            "limit.blobsize.error" => limits.payload_bytes = size(given)?,
            "limit.memosize.error" => limits.memo_bytes = size(given)?,
            "limit.numpendingactivities.error"
            | "limit.numpendingchildexecutions.error"
            | "limit.numpendingsignals.error"
            | "limit.numpendingcancelrequests.error" => limits.pending = size(given)?,
            "system.numconsecutiveworkflowtaskproblemstotriggersearchattribute" => {
                limits.reported_task_failures = count(given)?;
            }
            "history.maximumsignalsperexecution" => limits.signals = count(given)?,
            "history.maxtotalupdates" => limits.updates = size(given)?,
            "history.maxinflightupdates" => limits.updates_in_flight = size(given)?,
            "history.defaultworkflowtasktimeout" => {
                let millis = i64::try_from(duration(given)?.as_millis()).unwrap_or(i64::MAX);
                limits.workflow_task_timeout = Span::millis(millis);
            }
            "frontend.enablecancelworkerpollsonshutdown" => {
                server.ends_polls_of_leaving_workers = flag(given)?;
            }
            "history.longpollexpirationinterval" => server.long_poll_time = duration(given)?,
            _ => unknown.push(given.key.clone()),
        }
    }
    Ok(unknown)
}

fn count(given: &ConfigValue) -> Result<i64, Usage> {
    let count = given.value.as_i64().filter(|count| *count >= 0);
    count.ok_or_else(|| wrong(given, "a whole number, 0 or more"))
}

fn size(given: &ConfigValue) -> Result<usize, Usage> {
    let size = given.value.as_u64().and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| wrong(given, "a whole number, 0 or more"))
}

/// Temporal takes text for a flag too, and its CLI passes it on.
fn flag(given: &ConfigValue) -> Result<bool, Usage> {
    let flag = match &given.value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => text.to_lowercase().parse().ok(),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    };
    flag.ok_or_else(|| wrong(given, "true or false"))
}

/// A duration: text as in `"10s"`, or a number of seconds.
fn duration(given: &ConfigValue) -> Result<Duration, Usage> {
    let duration = match &given.value {
        Value::Number(number) => number.as_u64().map(Duration::from_secs),
        Value::String(text) => perennial_calendar::parse_duration(text).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let duration = duration.filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| wrong(given, "a duration, as in \"10s\""))
}

fn wrong(given: &ConfigValue, expected: &str) -> Usage {
    Usage::new(format!(
        "--dynamic-config-value {}={}: the value must be {expected}",
        given.key, given.value
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::pair::config_value;

    fn applied(texts: &[&str]) -> Result<(Limits, ServerConfig, Vec<String>), String> {
        let values: Vec<_> = texts.iter().map(|text| config_value(text).unwrap()).collect();
        let (mut limits, mut server) = (Limits::default(), ServerConfig::default());
        let unknown =
            apply(&values, &mut limits, &mut server).map_err(|usage| usage.to_string())?;
        Ok((limits, server, unknown))
    }

    #[test]
    fn known_keys_take_effect_and_the_others_are_named() {
        let (limits, server, unknown) = applied(&[
            "limit.historyCount.suggestContinueAsNew=50",
            "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2",
            "history.longPollExpirationInterval=\"5s\"",
            "frontend.enableCancelWorkerPollsOnShutdown=false",
            "frontend.enableServerVersionCheck=false",
        ])
        .unwrap();
        assert_eq!((limits.suggest_continue_events, limits.reported_task_failures), (50, 2));
        assert_eq!(server.long_poll_time, Duration::from_secs(5));
        assert!(!server.ends_polls_of_leaving_workers);
        assert_eq!(unknown, ["frontend.enableServerVersionCheck"]);
    }

    #[test]
    fn value_of_the_wrong_kind_is_refused() {
        assert_eq!(
            applied(&["limit.blobSize.error=\"big\""]).unwrap_err(),
            "--dynamic-config-value limit.blobSize.error=\"big\": the value must be a whole number, 0 \
             or more"
        );
    }
}
