//! Text for terminals: wrapped, and without control characters.

use std::io::{self, Write};

use crate::terminal::Look;

/// Replaces control characters by blanks: they could move the cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes text wrapped at the terminal's width. Continuation lines are indented by two more.
pub(crate) fn write_wrapped(
    indent: &str,
    text: &str,
    look: Look,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let most = look.width.map_or(usize::MAX, usize::from).max(20);
    let mut line = indent.to_owned();
    let mut words = 0;
    for word in printable(text).split(' ') {
        if words > 0 && line.chars().count() + 1 + word.chars().count() > most {
            writeln!(out, "{line}")?;
            line = format!("{indent}  ");
            words = 0;
        }
        if words > 0 {
            line.push(' ');
        }
        line.push_str(word);
        words += 1;
    }
    writeln!(out, "{line}")
}
