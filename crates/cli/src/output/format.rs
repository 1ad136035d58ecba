//! How an answer is written.

use clap::ValueEnum;

/// Who reads the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    #[value(alias = "text", alias = "card")]
    Table,
    /// One document
    Json,
    /// One object a line
    Jsonl,
    /// Nothing; the exit code tells
    None,
}

/// How a time is written in an answer for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeFormat {
    /// The time here, and how far away it is
    #[default]
    Full,
    /// How far away it is
    Relative,
    /// The time in UTC
    #[value(alias = "raw")]
    Iso,
}
