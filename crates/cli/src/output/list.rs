//! Lists of any length: nothing is kept that grows with the answer.

use std::io::Write;

use perennial_proto::json::to_json;
use prost::Name;
use serde::Serialize;

use super::{Column, Format, Output, Row, Table, Times};

/// So many rows are laid out together and then forgotten.
const PAGE_ROWS: usize = 500;

/// A list being written. Push each thing, then [finish](Self::finish).
pub(crate) struct List<'o> {
    output: &'o mut Output,
    table: Table,
    written: u64,
}

impl<'o> List<'o> {
    pub(super) fn new(output: &'o mut Output, columns: Vec<Column>) -> Self {
        let table = Table::new(columns, output.look);
        List { output, table, written: 0 }
    }

    /// The next thing: the message programs read, and the row people do.
    pub(crate) fn push<R: Into<Row>>(
        &mut self,
        message: &impl Name,
        row: impl FnOnce(&Times) -> R,
    ) -> anyhow::Result<()> {
        match self.output.format {
            Format::Json | Format::Jsonl => {
                let value = to_json(message, self.output.payloads);
                self.write_record(&value)?;
            }
            Format::Table => self.push_row(row)?,
            Format::None => {}
        }
        self.written += 1;
        Ok(())
    }

    /// The same for what no message says.
    pub(crate) fn push_record<R: Into<Row>>(
        &mut self,
        record: &impl Serialize,
        row: impl FnOnce(&Times) -> R,
    ) -> anyhow::Result<()> {
        match self.output.format {
            Format::Json | Format::Jsonl => self.write_record(record)?,
            Format::Table => self.push_row(row)?,
            Format::None => {}
        }
        self.written += 1;
        Ok(())
    }

    /// Shows what has been pushed so far: for lists that come slowly.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.table.write_page(&mut self.output.writer)?;
        Ok(self.output.flush()?)
    }

    /// Ends the list, and says how many things it had.
    pub(crate) fn finish(mut self) -> anyhow::Result<u64> {
        self.table.write_page(&mut self.output.writer)?;
        if self.output.format == Format::Json {
            let end: &[u8] = if self.written == 0 { b"[]\n" } else { b"\n]\n" };
            self.output.writer.write_all(end)?;
        }
        Ok(self.written)
    }

    fn push_row<R: Into<Row>>(&mut self, row: impl FnOnce(&Times) -> R) -> anyhow::Result<()> {
        self.table.push(row(&self.output.times));
        if self.table.waiting() == PAGE_ROWS {
            self.table.write_page(&mut self.output.writer)?;
        }
        Ok(())
    }

    fn write_record(&mut self, record: &impl Serialize) -> anyhow::Result<()> {
        let writer = &mut self.output.writer;
        match self.output.format {
            Format::Jsonl => {
                serde_json::to_writer(&mut *writer, record)?;
                writer.write_all(b"\n")?;
            }
            Format::Json | Format::Table | Format::None => {
                writer.write_all(if self.written == 0 { b"[\n" } else { b",\n" })?;
                serde_json::to_writer_pretty(&mut *writer, record)?;
            }
        }
        Ok(())
    }
}
