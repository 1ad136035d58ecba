//! The log, on standard error.

use std::backtrace::Backtrace;
use std::io::{self, Write};

use clap::ValueEnum;
use perennial_library::LogLevels;
use serde::Deserialize;
use tracing::Dispatch;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{fmt, reload};

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

/// The longest filter of levels, in bytes.
const FILTER_BYTES_MAX: usize = 1024;

/// Starts logging to standard error. The levels can be changed afterwards.
pub(crate) fn start(level: LogLevel, format: LogFormat) -> anyhow::Result<LogLevels> {
    let (log, levels) = log(level, format, io::stderr);
    tracing::dispatcher::set_global_default(log)
        .map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))?;
    log_panics();
    Ok(levels)
}

/// A log and its levels.
fn log<W: Write + 'static>(
    level: LogLevel,
    format: LogFormat,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> (Dispatch, LogLevels) {
    let (filter, handle) = reload::Layer::new(Targets::new().with_default(level.filter()));
    let log = tracing_subscriber::registry().with(filter);
    let log = match format {
        LogFormat::Text => {
            let lines = move || SingleLineWriter(writer());
            Dispatch::new(log.with(fmt::layer().with_ansi(false).with_writer(lines)))
        }
        LogFormat::Json => Dispatch::new(log.with(fmt::layer().json().with_writer(writer))),
    };
    let levels = LogLevels::new(move |filter| {
        let targets = parse_filter(filter)?;
        handle.reload(targets).map_err(|error| format!("the log has ended: {error}"))?;
        tracing::info!(filter, "the levels of the log have changed");
        Ok(())
    });
    (log, levels)
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Trace => LevelFilter::TRACE,
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warn => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
            Self::Never => LevelFilter::OFF,
        }
    }
}

/// Reads levels such as `info,perennial_server=debug`: one for everything, and others for modules. Without the first,
/// everything else is logged at `info`.
fn parse_filter(text: &str) -> Result<Targets, String> {
    if text.len() > FILTER_BYTES_MAX {
        return Err(format!("the levels are longer than {FILTER_BYTES_MAX} bytes"));
    }
    let mut targets = Targets::new().with_default(LevelFilter::INFO);
    for entry in text.split(',').map(str::trim) {
        let (module, level) = match entry.split_once('=') {
            Some((module, level)) => (Some(module), level),
            None => (None, entry),
        };
        let level = LogLevel::from_str(level, true)
            .map_err(|_| {
                format!(
                    "`{entry}` is no level; write trace, debug, info, warn, error or never, \
                     or MODULE=LEVEL, with commas between"
                )
            })?
            .filter();
        let is_name = |char: char| char.is_ascii_alphanumeric() || "_-:".contains(char);
        targets = match module {
            None => targets.with_default(level),
            Some(module) if !module.is_empty() && module.chars().all(is_name) => {
                targets.with_target(module, level)
            }
            Some(module) => {
                return Err(format!(
                    "`{module}` is no module; write a name such as perennial_server"
                ));
            }
        };
    }
    Ok(targets)
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
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use tracing::Level;

    use super::{LogFormat, LogLevel, SingleLineWriter, log, parse_filter};

    /// A log in memory.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn levels_change_while_the_log_is_written() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let lines = Lines::default();
            let writer = lines.clone();
            let (log, levels) = log(LogLevel::Info, format, move || writer.clone());
            tracing::dispatcher::with_default(&log, || {
                let write = |when| tracing::debug!(target: "logging_test", when);
                write("first");
                levels.set("warn,logging_test=debug").unwrap();
                write("second");
                levels.set("loud").unwrap_err();
                write("third");
                levels.set("never").unwrap();
                write("fourth");
            });
            let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            assert_eq!(lines.lines().count(), 2, "{lines}");
            assert!(lines.contains("second") && lines.contains("third"), "{lines}");
        }
    }

    #[test]
    fn filter_has_a_level_for_everything_and_others_for_modules() {
        let filter =
            parse_filter("warn, perennial_server=debug,perennial_runtime::cell=never").unwrap();
        assert!(filter.would_enable("hyper", &Level::WARN));
        assert!(!filter.would_enable("hyper", &Level::INFO));
        assert!(filter.would_enable("perennial_server::grpc", &Level::DEBUG));
        assert!(!filter.would_enable("perennial_runtime::cell", &Level::ERROR));
        let modules_only = parse_filter("perennial_server=trace").unwrap();
        assert!(modules_only.would_enable("hyper", &Level::INFO));
    }

    #[test]
    fn filter_that_is_none_is_refused_with_advice() {
        for bad in ["", "loud", "info,", "=info", "a b=info", "perennial_server=", "a=b=info"] {
            let refused = parse_filter(bad).unwrap_err();
            assert!(refused.contains("write"), "{bad}: {refused}");
        }
        assert!(parse_filter(&"x".repeat(1025)).unwrap_err().contains("longer"));
    }

    #[test]
    fn event_is_one_line_whatever_is_in_it() {
        let mut log = SingleLineWriter(Vec::new());
        log.write_all("INFO a\nERROR forged \x1b[2J \u{9b} é\n".as_bytes()).unwrap();
        log.write_all(b"INFO plain\n").unwrap();
        let lines = String::from_utf8(log.0).unwrap();
        assert_eq!(lines, "INFO a\\nERROR forged \\u{1b}[2J \\u{9b} é\nINFO plain\n");
    }
}
