//! Output formats.

use clap::ValueEnum;

/// The format of a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    #[value(alias = "text", alias = "card")]
    Table,
    /// One JSON document
    Json,
    /// One JSON object per line
    Jsonl,
    /// No output, only the exit code
    None,
}

/// The format of times in tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeFormat {
    /// Local time and distance, such as `2026-11-16 10:00:00 (in 3 h)`
    #[default]
    Full,
    /// Distance only, such as `in 3 h`
    Relative,
    /// ISO 8601 in UTC
    #[value(alias = "raw")]
    Iso,
}
