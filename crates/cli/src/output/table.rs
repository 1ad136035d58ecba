//! Tables that fit the terminal.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Width};

use super::text::printable;
use crate::terminal::{Look, Style};

/// Blanks between two columns.
const GAP: u16 = 2;

/// Marks the first line of each row. It has no width. Other lines continue the row above.
const ROW_MARK: char = '\u{2060}';

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    heading: String,
    optional: bool,
}

impl Column {
    pub(crate) fn new(heading: impl Into<String>) -> Self {
        Column { heading: heading.into(), optional: false }
    }

    /// A column that is dropped if the table is wider than the terminal, the last one first.
    pub(crate) fn if_room(heading: impl Into<String>) -> Self {
        Column { heading: heading.into(), optional: true }
    }
}

/// A row: a text for each column.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    cells: Vec<String>,
    style: Style,
}

impl Row {
    pub(crate) fn styled(self, style: Style) -> Self {
        Row { style, ..self }
    }
}

impl<I: IntoIterator<Item = String>> From<I> for Row {
    fn from(cells: I) -> Self {
        let cells = cells.into_iter().map(|cell| printable(&cell)).collect();
        Row { cells, style: Style::Plain }
    }
}

/// A table, written page by page. Later pages keep at least the column widths of the first.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
    look: Look,
    /// Indexes of the columns shown, with their widths on the first page.
    shown: Option<Vec<(usize, u16)>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>, look: Look) -> Self {
        Table { columns, rows: Vec::new(), look, shown: None }
    }

    pub(crate) fn push(&mut self, row: impl Into<Row>) {
        self.rows.push(row.into());
    }

    /// The number of rows not written yet.
    pub(crate) fn pending(&self) -> usize {
        self.rows.len()
    }

    /// Writes the pending rows.
    pub(crate) fn write_page(&mut self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let first = self.shown.is_none();
        let shown = self.shown.take().unwrap_or_else(|| self.choose(&rows));
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if let Some(width) = self.look.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        let mut styles = Vec::with_capacity(rows.len() + 1);
        let marked = |cells: Vec<&str>| {
            let mut cells: Vec<String> = cells.into_iter().map(str::to_owned).collect();
            if let Some(cell) = cells.first_mut() {
                cell.insert(0, ROW_MARK);
            }
            cells
        };
        if first {
            table.add_row(marked(
                shown.iter().map(|&(n, _)| self.columns[n].heading.as_str()).collect(),
            ));
            styles.push(Style::Heading);
        }
        for row in &rows {
            let cell = |n: usize| row.cells.get(n).map_or("", String::as_str);
            table.add_row(marked(shown.iter().map(|&(n, _)| cell(n)).collect()));
            styles.push(row.style);
        }
        for (place, &(n, width)) in shown.iter().enumerate() {
            if let Some(column) = table.column_mut(place) {
                let last = place + 1 == shown.len();
                column.set_padding((0, if last { 0 } else { GAP }));
                let gap = if last { 0 } else { GAP };
                let aligned = if first || last { 0 } else { width };
                let least = aligned.max(self.longest_word(n, &rows).saturating_add(gap));
                if least > gap {
                    column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
                }
            }
        }
        let widths = table.column_max_content_widths();
        let mut styles = styles.into_iter();
        let mut style = Style::Plain;
        for line in table.lines() {
            let line = match line.strip_prefix(ROW_MARK) {
                Some(line) => {
                    style = styles.next().unwrap_or(Style::Plain);
                    line
                }
                None => &line,
            };
            writeln!(out, "{}", self.look.paint(style, line.trim_end()))?;
        }
        let kept = shown.iter().zip(widths);
        self.shown = Some(match first {
            true => kept.map(|(&(n, _), width)| (n, width + GAP)).collect(),
            false => shown,
        });
        Ok(())
    }

    /// The width of the longest word: a broken id can't be copied. Optional columns may be broken.
    fn longest_word(&self, n: usize, rows: &[Row]) -> u16 {
        if self.columns[n].optional {
            return 0;
        }
        let cells = rows.iter().filter_map(|row| row.cells.get(n)).map(String::as_str);
        let words = cells.chain([self.columns[n].heading.as_str()]).flat_map(|it| it.split(' '));
        words.map(length).max().unwrap_or(0)
    }

    /// The columns that fit the terminal.
    fn choose(&self, rows: &[Row]) -> Vec<(usize, u16)> {
        let natural = |n: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(n));
            let widest = cells.map(|cell| length(cell)).max().unwrap_or(0);
            widest.max(length(&self.columns[n].heading))
        };
        let mut shown: Vec<(usize, u16)> =
            (0..self.columns.len()).map(|n| (n, natural(n))).collect();
        let Some(most) = self.look.width else { return shown };
        let needed = |shown: &[(usize, u16)]| {
            shown.iter().map(|&(_, width)| u32::from(width + GAP)).sum::<u32>()
        };
        while needed(&shown) > u32::from(most) + u32::from(GAP) {
            let Some(place) = shown.iter().rposition(|&(n, _)| self.columns[n].optional) else {
                break;
            };
            shown.remove(place);
        }
        shown
    }
}

fn length(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_never_broken_and_texts_are_between_words() {
        let look = Look { colored: false, width: Some(30) };
        let columns = vec![Column::new("Id"), Column::new("Text"), Column::if_room("More")];
        let mut table = Table::new(columns, look);
        let id = "nightly-report-2026-11-16T14:43:02Z";
        table.push(Row::from([id.to_owned(), "two words".to_owned(), "x".repeat(40)]));
        let mut out = Vec::new();
        table.write_page(&mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains(&format!("{id}  two\n")), "{out}");
        assert!(out.lines().any(|line| line.trim() == "words"), "{out}");
        assert!(!out.contains("xxx"), "{out}");
    }
}
