//! Output: tables and cards for people, JSON for programs.
//!
//! A command passes both forms: the message for JSON, and a closure that writes text. [`Output`] chooses one by
//! `--output`. Standard output holds the result and nothing else.

mod card;
mod format;
mod list;
mod names;
mod progress;
mod relative;
mod table;
mod text;
mod times;
mod values;

use std::io::{self, BufWriter, Write};

use perennial_proto::json::{Payloads, to_json};
use prost::Name;
use serde::Serialize;

pub(crate) use self::card::Card;
pub(crate) use self::format::{Format, TimeFormat};
pub(crate) use self::list::List;
pub(crate) use self::names::short_name;
pub(crate) use self::progress::Progress;
pub(crate) use self::relative::distance;
pub(crate) use self::table::{Column, Row, Table};
pub(crate) use self::text::{printable, thousands, write_wrapped};
pub(crate) use self::times::{Times, duration, instant, serialize_instant, stamp};
pub(crate) use self::values::{attribute_value, attribute_values};
use crate::terminal::{Look, print_stderr};

/// The output of a command, and its format.
pub(crate) struct Output {
    writer: Box<dyn Write>,
    pub(crate) format: Format,
    pub(crate) look: Look,
    pub(crate) times: Times,
    pub(crate) payloads: Payloads,
}

impl Output {
    pub(crate) fn to_stdout(format: Format, look: Look, times: Times, payloads: Payloads) -> Self {
        let writer = Box::new(BufWriter::new(io::stdout()));
        Output { writer, format, look, times, payloads }
    }

    /// Writes one protobuf message.
    pub(crate) fn message(
        &mut self,
        message: &impl Name,
        write_text: impl FnOnce(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.format {
            Format::Table => write_text(self),
            Format::Json | Format::Jsonl => {
                let value = to_json(message, self.payloads);
                self.write_json(&value)
            }
            Format::None => Ok(()),
        }
    }

    /// Writes one record that is no protobuf message.
    pub(crate) fn record(
        &mut self,
        record: &impl Serialize,
        write_text: impl FnOnce(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.format {
            Format::Table => write_text(self),
            Format::Json | Format::Jsonl => self.write_json(record),
            Format::None => Ok(()),
        }
    }

    /// Begins a list, which may be long.
    pub(crate) fn list(&mut self, columns: Vec<Column>) -> List<'_> {
        List::new(self, columns)
    }

    /// Writes a confirmation, in text output only. Programs see the exit code.
    pub(crate) fn success(&mut self, text: impl AsRef<str>) -> anyhow::Result<()> {
        match self.format {
            Format::Table => Ok(self.line(text)?),
            Format::Json | Format::Jsonl | Format::None => Ok(()),
        }
    }

    /// Writes a line of text.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.writer, "{}", text.as_ref())
    }

    pub(crate) fn card(&mut self, card: &Card) -> io::Result<()> {
        card.write(self.look, &mut self.writer)
    }

    /// Writes a whole table.
    pub(crate) fn table(
        &mut self,
        columns: Vec<Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> io::Result<()> {
        let mut table = Table::new(columns, self.look);
        rows.into_iter().for_each(|row| table.push(row));
        table.write_page(&mut self.writer)
    }

    /// Writes a note to standard error, in text output only. Flushes first, to keep the order on a terminal.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.flush()?;
        if self.format == Format::Table {
            print_stderr(format_args!("{}", text.as_ref()));
        }
        Ok(())
    }

    /// The underlying writer.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.writer
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    fn write_json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        match self.format {
            Format::Jsonl => serde_json::to_writer(&mut self.writer, value)?,
            Format::Json | Format::Table | Format::None => {
                serde_json::to_writer_pretty(&mut self.writer, value)?;
            }
        }
        Ok(writeln!(self.writer)?)
    }
}
