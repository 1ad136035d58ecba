//! The schedule that started a run: the `ScheduleTriggered` event in the header of the run's first event.

use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::workflow::v1::WorkflowExecutionInfo;
use serde::Serialize;
use serde_json::{Map, Value};

use super::history::first_event;
use crate::client::Client;
use crate::output::{Card, Output, write_wrapped};

const HEADER: &str = "perennial-schedule";
const EVENT: &str = "ScheduleTriggered";

/// The keys and values of a `ScheduleTriggered` event, in the schedule's order.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Lineage(Map<String, Value>);

impl Lineage {
    /// Reads the lineage from the first event of a run.
    pub(super) fn of(first: &HistoryEvent) -> Option<Self> {
        let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = &first.attributes
        else {
            return None;
        };
        let payload = started.header.as_ref()?.fields.get(HEADER)?;
        let mut fields: Map<String, Value> = serde_json::from_slice(&payload.data).ok()?;
        if fields.shift_remove("event")? != EVENT {
            return None;
        }
        // Headers written by earlier servers have only the id, under this name.
        if let Some(id) = fields.shift_remove("schedule_internal_id") {
            fields.entry("schedule_ulid").or_insert(id);
        }
        Some(Lineage(fields))
    }

    /// Fetches the first event of a run, if its search attributes name a schedule.
    pub(super) async fn fetch(
        client: &Client,
        info: &WorkflowExecutionInfo,
    ) -> anyhow::Result<Option<Self>> {
        let attributes = info.search_attributes.as_ref();
        let is_marked =
            attributes.is_some_and(|it| it.indexed_fields.contains_key("TemporalScheduledById"));
        let execution: WorkflowExecution = match &info.execution {
            Some(execution) if is_marked => execution.clone(),
            _ => return Ok(None),
        };
        let first = first_event(client, execution).await?;
        Ok(first.as_ref().and_then(Self::of))
    }

    /// Writes the lineage as one line, wrapped at the terminal's width.
    pub(super) fn write(&self, output: &mut Output) -> anyhow::Result<()> {
        let look = output.look;
        Ok(write_wrapped("", &self.line(), look, output.writer())?)
    }

    /// `ScheduleTriggered schedule_id=nightly trigger_number=3 …`.
    pub(super) fn line(&self) -> String {
        let fields = self.fields().map(|(name, value)| match value.contains(' ') {
            true => format!("{name}={value:?}"),
            false => format!("{name}={value}"),
        });
        std::iter::once(EVENT.to_owned()).chain(fields).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn fill(&self, card: &mut Card) {
        card.heading(format!("{EVENT}:"));
        self.fields().for_each(|(name, value)| {
            card.field(name, value);
        });
    }

    fn fields(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some((name.as_str(), text.clone())),
            Value::Array(texts) => {
                let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                Some((name.as_str(), texts.join("; ")))
            }
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                Some((name.as_str(), value.to_string()))
            }
        })
    }
}
