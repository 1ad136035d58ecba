//! Writes events as a table that fits the terminal, page by page.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Width};
use jiff::Zoned;
use perennial_calendar::Spec;

use super::event::{Event, Fate};
use super::part;
use super::view::{View, Window};
use crate::output::{distance, printable};
use crate::terminal::{Look, Style};

/// Rows per page.
const PAGE_ROWS: usize = 1_000;

/// Blanks between two columns.
const GAP: u16 = 2;

/// Minimum width of a reason.
const REASON_WIDTH_MIN: u16 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Local,
    Utc,
    Distance,
    Due,
    Part,
    Reason,
}

/// A table being written. Its columns are chosen once, so all pages line up.
pub(super) struct Table<'s> {
    spec: &'s Spec,
    /// The spec's time zone is UTC: one column less, and no offsets.
    utc: bool,
    from: Zoned,
    from_now: bool,
    look: Look,
    columns: Vec<Column>,
    rows: Vec<(Vec<String>, Style)>,
    begun: bool,
}

impl<'s> Table<'s> {
    pub(super) fn new(spec: &'s Spec, window: Window, view: View) -> Self {
        let look = view.look;
        let definition = spec.definition();
        let mut columns = vec![Column::Local, Column::Distance];
        let utc = matches!(spec.zone().name(), "UTC" | "Etc/UTC");
        if !utc {
            columns.insert(1, Column::Utc);
        }
        if !definition.jitter.is_zero() {
            columns.push(Column::Due);
        }
        if part::count(definition) > 1 {
            columns.push(Column::Part);
        }
        if view.show_left_out {
            columns.push(Column::Reason);
        }
        if let Some(width) = look.width {
            for dispensable in [Column::Utc, Column::Part, Column::Distance] {
                let needed =
                    columns.iter().map(|column| column.width(utc) + GAP).sum::<u16>() - GAP;
                if needed <= width {
                    break;
                }
                columns.retain(|&column| column != dispensable);
            }
        }
        Table {
            spec,
            utc,
            from: spec.zone().at(window.from),
            from_now: window.from_now,
            look,
            columns,
            rows: Vec::new(),
            begun: false,
        }
    }

    pub(super) fn push(&mut self, event: &Event, out: &mut impl Write) -> io::Result<()> {
        let style = match event.fate {
            Fate::Fires { .. } => Style::Plain,
            Fate::LeftOut { .. } => Style::Faint,
        };
        let local = self.spec.zone().at(event.nominal);
        let cells = self.columns.iter().map(|&column| self.cell(column, event, &local)).collect();
        self.rows.push((cells, style));
        if self.rows.len() == PAGE_ROWS {
            self.write_page(out)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.write_page(out)
    }

    fn cell(&self, column: Column, event: &Event, local: &Zoned) -> String {
        match (column, &event.fate) {
            // The instant of a time in a gap has another local time: show the skipped one.
            (Column::Local, Fate::LeftOut { civil, .. }) if *civil != local.datetime() => {
                civil.strftime("%a %Y-%m-%d %H:%M:%S").to_string()
            }
            (Column::Utc | Column::Distance, Fate::LeftOut { civil, .. })
                if *civil != local.datetime() =>
            {
                "–".to_owned()
            }
            (Column::Local, _) if self.utc => local.strftime("%a %Y-%m-%d %H:%M:%S").to_string(),
            (Column::Local, _) => local.strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string(),
            (Column::Utc, _) => event.nominal.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
            (Column::Distance, _) => distance(&self.from, local),
            (Column::Due, Fate::Fires { due }) => {
                self.spec.zone().at(*due).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
            }
            (Column::Due, Fate::LeftOut { .. }) => String::new(),
            (Column::Part, _) => match part::comment(event.part, self.spec.definition()) {
                "" => part::name(event.part),
                comment => format!("{}: {}", part::name(event.part), shortened(comment)),
            },
            (Column::Reason, Fate::LeftOut { why, .. }) => printable(why),
            (Column::Reason, Fate::Fires { .. }) => String::new(),
        }
    }

    fn heading(&self, column: Column) -> String {
        match column {
            Column::Local => printable(self.spec.zone().name()),
            Column::Utc => "UTC".to_owned(),
            Column::Distance if self.from_now => "In".to_owned(),
            Column::Distance => "After --from".to_owned(),
            Column::Due => "Due".to_owned(),
            Column::Part => "Part".to_owned(),
            Column::Reason => "Left out because".to_owned(),
        }
    }

    fn write_page(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if let Some(width) = self.look.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        let mut styles = Vec::with_capacity(self.rows.len() + 1);
        if !self.begun {
            table.add_row(self.columns.iter().map(|&column| self.heading(column)));
            styles.push(Style::Heading);
        }
        self.begun = true;
        for (cells, style) in self.rows.drain(..) {
            table.add_row(cells);
            styles.push(style);
        }
        for (index, &column) in self.columns.iter().enumerate() {
            if let Some(laid_out) = table.column_mut(index) {
                let last = index + 1 == self.columns.len();
                let gap = if last { 0 } else { GAP };
                laid_out.set_padding((0, gap));
                laid_out.set_constraint(column.constraint(self.utc, gap));
            }
        }
        // Only reasons wrap, and they are the last column: a line that begins with a blank continues the
        // row above.
        let mut styles = styles.into_iter();
        let mut style = Style::Plain;
        for line in table.lines() {
            if !line.starts_with(' ') {
                style = styles.next().unwrap_or(Style::Plain);
            }
            writeln!(out, "{}", self.look.paint(style, line.trim_end()))?;
        }
        Ok(())
    }
}

impl Column {
    /// The width of the content; for a reason, the minimum.
    fn width(self, utc: bool) -> u16 {
        match self {
            Column::Local if utc => 23,
            Column::Local => 30,
            Column::Utc => 20,
            Column::Distance => 12,
            Column::Due => 23,
            Column::Part => 10,
            Column::Reason => REASON_WIDTH_MIN,
        }
    }

    /// Fixed widths, so that pages line up. Parts have their natural width, and reasons wrap.
    fn constraint(self, utc: bool, gap: u16) -> ColumnConstraint {
        match self {
            Column::Local | Column::Utc | Column::Distance | Column::Due | Column::Reason => {
                ColumnConstraint::LowerBoundary(Width::Fixed(self.width(utc) + gap))
            }
            Column::Part => ColumnConstraint::ContentWidth,
        }
    }
}

/// Shortens a comment, which may have 200 characters.
fn shortened(comment: &str) -> String {
    const SHOWN: usize = 30;
    let mut shown: String = printable(comment).chars().take(SHOWN).collect();
    if comment.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
