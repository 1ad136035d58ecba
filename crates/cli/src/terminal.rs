//! Width and colours of the terminal.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use terminal_size::terminal_size_of;

/// When to colour the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// How a piece of text is highlighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Heading,
    Warning,
    Faint,
}

/// Whether standard output is coloured, and how wide it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) colored: bool,
    /// Width in columns; `None` if unlimited, as in a file.
    pub(crate) width: Option<u16>,
}

impl Look {
    pub(crate) fn of_stdout(color: Color) -> Self {
        let colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let plain = |name, value: &str| env::var(name).is_ok_and(|set| set == value);
                let no_color = env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
                io::stdout().is_terminal() && !no_color && !plain("TERM", "dumb")
            }
        };
        let asked = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = asked
            .filter(|&columns: &u16| columns > 0)
            .or_else(|| terminal_size_of(io::stdout()).map(|(width, _)| width.0));
        Look { colored, width }
    }

    /// Adds the colour codes of the style, if output is coloured.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if !self.colored || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Heading => "1",
            Style::Warning => "33",
            Style::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Prints warnings to standard error, whatever the output format.
pub(crate) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| print_stderr(format_args!("warning: {warning}")));
}

/// Prints a line to standard error. A closed standard error is ignored: nobody could be told.
pub(crate) fn print_stderr(message: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{message}");
}
