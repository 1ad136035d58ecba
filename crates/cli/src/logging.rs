//! The log, on standard error.

use std::io;

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::filter::LevelFilter;

/// What is worth a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
    Never,
}

/// What a line looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    #[value(alias = "pretty")]
    #[serde(alias = "pretty")]
    Text,
    /// For programs
    Json,
}

/// Sends what the program logs to standard error from here on.
pub(crate) fn start(level: LogLevel, format: LogFormat) -> anyhow::Result<()> {
    let level = match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Never => LevelFilter::OFF,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => log.with_ansi(false).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log can't be written: {error}"))
}
