//! Lists of any length, written page by page, so memory use is bounded.

use std::io::Write;

use perennial_proto::json::to_json;
use prost::Name;
use serde::Serialize;

use super::{Column, Format, Output, Row, Table, Times};

/// Rows per page of a table. Columns are aligned within a page.
const PAGE_ROWS: usize = 500;

/// A list being written. Push each item, then call [finish](Self::finish).
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

    /// Writes the next item: `message` in JSON, `row` in a table.
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

    /// Writes the next item, from a record instead of a protobuf message.
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

    /// Writes the rows pushed so far, for lists that arrive slowly.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.table.write_page(&mut self.output.writer)?;
        Ok(self.output.flush()?)
    }

    /// Ends the list and returns the number of items.
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
        if self.table.pending() == PAGE_ROWS {
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
