//! The log, on standard error.

use std::backtrace::Backtrace;
use std::io::{self, Write};

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::filter::LevelFilter;

/// The lowest level that is logged.
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

/// The format of a log line.
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

/// Starts logging to standard error.
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
        LogFormat::Text => {
            log.with_ansi(false).with_writer(|| SingleLineWriter(io::stderr())).try_init()
        }
        LogFormat::Json => log.json().with_writer(io::stderr).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))?;
    log_panics();
    Ok(())
}

/// Writes panics to the log, in its format, instead of plain text to standard error.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("unnamed");
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = Backtrace::capture();
        tracing::error!(thread, location, message, %backtrace, "a thread panicked");
    }));
}

/// Escapes control characters, so that each event is one line. Names and ids chosen by clients can neither forge
/// log lines nor move the cursor of a terminal.
struct SingleLineWriter<W>(W);

impl<W: Write> Write for SingleLineWriter<W> {
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

    use super::SingleLineWriter;

    #[test]
    fn event_is_one_line_whatever_is_in_it() {
        let mut log = SingleLineWriter(Vec::new());
        log.write_all("INFO a\nERROR forged \x1b[2J \u{9b} é\n".as_bytes()).unwrap();
        log.write_all(b"INFO plain\n").unwrap();
        let lines = String::from_utf8(log.0).unwrap();
        assert_eq!(lines, "INFO a\\nERROR forged \\u{1b}[2J \\u{9b} é\nINFO plain\n");
    }
}
