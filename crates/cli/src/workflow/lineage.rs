//! What started a run, if a schedule did: the `ScheduleTriggered` event in the header of its first event.

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
    /// What the first event of a run says.
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
        // Headers of earlier servers have the id under this name alone.
        if let Some(id) = fields.shift_remove("schedule_internal_id") {
            fields.entry("schedule_ulid").or_insert(id);
        }
        Some(Lineage(fields))
    }

    /// Reads the first event of a run that has the mark of a schedule.
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

    /// Writes it as one line, which is broken where the terminal ends.
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
