//! Results of the doctor's checks.

use serde::Serialize;
use tonic::Status;

/// Names listed in a finding; the rest is only counted.
pub(super) const NAMES_LISTED_MAX: usize = 5;

/// All findings, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) all: Vec<Finding>,
}

/// The result of one check. Field names are a stable interface.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) result: CheckResult,
    pub(super) details: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckResult {
    Good,
    /// Nothing is broken, but worth knowing.
    Remark,
    Bad,
}

impl CheckResult {
    pub(super) fn name(self) -> &'static str {
        match self {
            CheckResult::Good => "ok",
            CheckResult::Remark => "note",
            CheckResult::Bad => "bad",
        }
    }
}

impl Findings {
    pub(super) fn good(&mut self, check: &'static str, details: impl Into<String>) {
        self.add(check, CheckResult::Good, details);
    }

    pub(super) fn notice(&mut self, check: &'static str, details: impl Into<String>) {
        self.add(check, CheckResult::Remark, details);
    }

    pub(super) fn bad(&mut self, check: &'static str, details: impl Into<String>) {
        self.add(check, CheckResult::Bad, details);
    }

    /// A request of the check failed.
    pub(super) fn request_failed(&mut self, check: &'static str, status: &Status, hint: &str) {
        let message = match status.message() {
            "" => status.code().description(),
            message => message,
        };
        self.bad(check, format!("{message}; {hint}"));
    }

    /// The number of failed checks.
    pub(super) fn failed(&self) -> usize {
        self.all.iter().filter(|it| it.result == CheckResult::Bad).count()
    }

    pub(super) fn add(
        &mut self,
        check: &'static str,
        result: CheckResult,
        details: impl Into<String>,
    ) {
        self.all.push(Finding { check, result, details: details.into() });
    }
}

/// `1 row`, `2 rows`.
pub(super) fn counted(count: i64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// Joins the first names, and counts the rest.
pub(super) fn join_names(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMES_LISTED_MAX);
    names.truncate(NAMES_LISTED_MAX);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
