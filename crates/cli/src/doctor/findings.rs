//! What the doctor found.

use serde::Serialize;
use tonic::Status;

/// So many names are told before the rest is counted.
pub(super) const NAMED: usize = 5;

/// Findings in the order they were made.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) all: Vec<Finding>,
}

/// What one look came to. The names are part of the product.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) result: Found,
    pub(super) details: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Found {
    Good,
    /// Nothing is broken, but someone should know.
    Remark,
    Bad,
}

impl Found {
    pub(super) fn name(self) -> &'static str {
        match self {
            Found::Good => "ok",
            Found::Remark => "look",
            Found::Bad => "bad",
        }
    }
}

impl Findings {
    pub(super) fn good(&mut self, check: &'static str, details: impl Into<String>) {
        self.add(check, Found::Good, details);
    }

    pub(super) fn remark(&mut self, check: &'static str, details: impl Into<String>) {
        self.add(check, Found::Remark, details);
    }

    pub(super) fn bad(&mut self, check: &'static str, details: impl Into<String>) {
        self.add(check, Found::Bad, details);
    }

    /// The server was asked, and refused.
    pub(super) fn asked(&mut self, check: &'static str, status: &Status, advice: &str) {
        let said = match status.message() {
            "" => status.code().description(),
            said => said,
        };
        self.bad(check, format!("{said}; {advice}"));
    }

    /// How many are bad.
    pub(super) fn failed(&self) -> usize {
        self.all.iter().filter(|it| it.result == Found::Bad).count()
    }

    fn add(&mut self, check: &'static str, result: Found, details: impl Into<String>) {
        self.all.push(Finding { check, result, details: details.into() });
    }
}

/// The first names, and how many more there are.
pub(super) fn named(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
