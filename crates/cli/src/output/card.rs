//! Cards: the fields of one object, one per line.

use std::io::{self, Write};

use super::text::printable;
use crate::terminal::{Look, Style};

/// Names and values under headings. Empty values are not shown.
#[derive(Debug, Default)]
pub(crate) struct Card {
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Heading(String),
    Field { name: String, value: String, style: Style },
}

impl Card {
    pub(crate) fn heading(&mut self, heading: impl Into<String>) -> &mut Self {
        self.lines.push(Line::Heading(heading.into()));
        self
    }

    pub(crate) fn field(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.styled(name, value, Style::Plain)
    }

    pub(crate) fn styled(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
        style: Style,
    ) -> &mut Self {
        let value = value.into();
        if !value.is_empty() {
            self.lines.push(Line::Field { name: name.into(), value, style });
        }
        self
    }

    pub(crate) fn write(&self, look: Look, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let names = self.lines.iter().filter_map(|line| match line {
            Line::Field { name, .. } => Some(name.chars().count()),
            Line::Heading(_) => None,
        });
        let width = names.max().unwrap_or(0);
        let lines: Vec<&Line> = self.filled().collect();
        for (n, line) in lines.into_iter().enumerate() {
            match line {
                Line::Heading(heading) => {
                    let gap = if n == 0 { "" } else { "\n" };
                    writeln!(out, "{gap}{}", look.paint(Style::Heading, heading))?;
                }
                Line::Field { name, value, style } => {
                    for (m, part) in value.lines().enumerate() {
                        let name = if m == 0 { name.as_str() } else { "" };
                        let value = look.paint(*style, &printable(part));
                        let line = format!("  {name:width$}  {value}");
                        writeln!(out, "{}", line.trim_end())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The lines, without headings that have no fields.
    fn filled(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().enumerate().filter_map(|(n, line)| match line {
            Line::Field { .. } => Some(line),
            Line::Heading(_) => {
                matches!(self.lines.get(n + 1), Some(Line::Field { .. })).then_some(line)
            }
        })
    }
}
