//! The log, on standard error.

use std::backtrace::Backtrace;
use std::io::{self, Write};

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::filter::LevelFilter;

/// What is worth a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Trace,
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
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Never => LevelFilter::OFF,
    };
    let log = tracing_subscriber::fmt().with_max_level(level);
    let started = match format {
        LogFormat::Text => log.with_ansi(false).with_writer(|| OneLine(io::stderr())).try_init(),
        LogFormat::Json => log.json().with_writer(io::stderr).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log can't be written: {error}"))?;
    log_panics();
    Ok(())
}

/// A thread that panics says so in the log, and not beside it.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("it says no more");
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("without a name");
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = Backtrace::capture();
        tracing::error!(thread, location, message, %backtrace, "a thread panicked");
    }));
}

/// Writes each event as one line: what clients chose (names, ids) must not look like lines of the log, nor move
/// the cursor of whoever reads it.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let (line, end) = text.strip_suffix('\n').map_or((&*text, ""), |line| (line, "\n"));
        if line.chars().any(char::is_control) {
            let escape = |char: char| match char.is_control() {
                true => char.escape_default().to_string(),
                false => char.to_string(),
            };
            let line: String = line.chars().map(escape).collect();
            self.0.write_all(format!("{line}{end}").as_bytes())?;
        } else {
            self.0.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::OneLine;

    #[test]
    fn event_is_one_line_whatever_is_in_it() {
        let mut log = OneLine(Vec::new());
        log.write_all("INFO a\nERROR forged \x1b[2J \u{9b} é\n".as_bytes()).unwrap();
        log.write_all(b"INFO plain\n").unwrap();
        let lines = String::from_utf8(log.0).unwrap();
        assert_eq!(lines, "INFO a\\nERROR forged \\u{1b}[2J \\u{9b} é\nINFO plain\n");
    }
}
