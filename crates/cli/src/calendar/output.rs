//! Writes events one by one, so memory use is bounded.

use std::io::Write;

use perennial_calendar::Spec;

use super::event::{Event, Record};
use super::table::Table;
use super::view::{View, Window};
use crate::output::Format;

/// Output of events. Write each event, then call [finish](Self::finish).
pub(super) struct Output<'s, W: Write> {
    spec: &'s Spec,
    out: W,
    written: u64,
    form: Form<'s>,
}

enum Form<'s> {
    Table(Table<'s>),
    Json,
    Jsonl,
    Nothing,
}

impl<'s, W: Write> Output<'s, W> {
    pub(super) fn new(spec: &'s Spec, view: View, window: Window, out: W) -> Self {
        let form = match view.format {
            Format::Table => Form::Table(Table::new(spec, window, view)),
            Format::Json => Form::Json,
            Format::Jsonl => Form::Jsonl,
            Format::None => Form::Nothing,
        };
        Output { spec, out, written: 0, form }
    }

    pub(super) fn write(&mut self, event: &Event) -> anyhow::Result<()> {
        match &mut self.form {
            Form::Table(table) => table.push(event, &mut self.out)?,
            Form::Json => {
                self.out.write_all(if self.written == 0 { b"[\n  " } else { b",\n  " })?;
                serde_json::to_writer(&mut self.out, &Record::new(event, self.spec))?;
            }
            Form::Nothing => {}
            Form::Jsonl => {
                serde_json::to_writer(&mut self.out, &Record::new(event, self.spec))?;
                self.out.write_all(b"\n")?;
            }
        }
        self.written += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        match self.form {
            Form::Table(table) => table.finish(&mut self.out)?,
            Form::Json => {
                self.out.write_all(if self.written == 0 { b"[]\n" } else { b"\n]\n" })?;
            }
            Form::Jsonl | Form::Nothing => {}
        }
        Ok(())
    }
}
