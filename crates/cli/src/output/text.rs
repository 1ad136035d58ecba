//! Text that fits the terminal and leaves it alone.

use std::io::{self, Write};

use crate::terminal::Look;

/// Without the characters that would move the cursor.
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

/// Breaks between words where the terminal ends; what follows is indented by two more.
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
