//! The levels of the log, which can be changed while the server runs.

use std::fmt;
use std::sync::Arc;

/// Changes the levels of the program's log. The program that writes the log makes it; a server passes changes on.
///
/// ```
/// use perennial_telemetry::LogLevels;
///
/// let levels = LogLevels::new(|filter| match filter {
///     "info" => Ok(()),
///     other => Err(format!("`{other}` is no level")),
/// });
/// assert!(levels.set("info").is_ok());
/// assert_eq!(levels.set("loud").unwrap_err(), "`loud` is no level");
/// ```
#[derive(Clone)]
pub struct LogLevels(Arc<SetLevels>);

/// Sets levels from a filter, or says what is wrong with the filter.
type SetLevels = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl LogLevels {
    /// Levels that `set` changes. It gets a filter such as `info,perennial_server=debug`.
    pub fn new(set: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(set))
    }

    /// Sets the levels from now on.
    pub fn set(&self, filter: &str) -> Result<(), String> {
        (self.0)(filter)
    }
}

impl fmt::Debug for LogLevels {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("LogLevels")
    }
}
