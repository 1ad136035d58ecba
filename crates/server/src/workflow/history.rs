//! Reads a history: in pages, backwards, or waiting for new events.

use perennial_engine::run::{Run, timeout_failure};
use perennial_proto::store::RunName;
use perennial_proto::temporal::enums::v1::{EventType, HistoryEventFilterType};
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::history::v1::{
    History, HistoryEvent, WorkflowExecutionContinuedAsNewEventAttributes,
};
use perennial_proto::temporal::workflowservice::v1::{
    GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryResponse,
    GetWorkflowExecutionHistoryReverseRequest, GetWorkflowExecutionHistoryReverseResponse,
};
use perennial_runtime::Watched;
use perennial_telemetry::LongPoll;

use crate::call::Call;
use crate::encoded_message::WithHistory;
use crate::errors::{RpcResult, refused};
use crate::history::{Events, PageLimits, read_backwards, read_forwards, transient_events};
use crate::tokens::{Direction, HistoryCursor, Keys};

type HistoryPage = WithHistory<GetWorkflowExecutionHistoryResponse>;

impl Call<'_> {
    pub(crate) async fn get_workflow_execution_history(
        &self,
        request: GetWorkflowExecutionHistoryRequest,
    ) -> RpcResult<HistoryPage> {
        let mut target = self.run_name(&request.namespace, request.execution.clone())?;
        let keys = self.token_keys().await?;
        let token = &request.next_page_token;
        let cursor = HistoryCursor::read(keys, Direction::Forwards, token, &target)?;
        if let Some(cursor) = &cursor {
            target.run_id.clone_from(&cursor.run_id);
        }
        match request.history_event_filter_type() {
            HistoryEventFilterType::CloseEvent => {
                self.close_event(target, request.wait_new_event, keys).await
            }
            HistoryEventFilterType::Unspecified | HistoryEventFilterType::AllEvent => {
                self.all_events(target, cursor, &request, keys).await
            }
        }
    }

    async fn all_events(
        &self,
        mut target: RunName,
        cursor: Option<HistoryCursor>,
        request: &GetWorkflowExecutionHistoryRequest,
        keys: &Keys,
    ) -> RpcResult<HistoryPage> {
        let mut run = self.read(target.clone()).await?;
        // The following pages are of this run, even if another one becomes current.
        target.run_id.clone_from(&run.head.run_id);
        let mut recent = Vec::new();
        let first = cursor.as_ref().map_or(1, |cursor| cursor.next_event_id);
        let bound = cursor.map_or(0, |cursor| cursor.last_event_id);
        if request.wait_new_event && bound == 0 && run.is_open() && first > run.last_event_id() {
            let watched = self.runtime().watch(target, first);
            if let Some(watched) =
                self.wait(LongPoll::History, self.shared().config.long_poll_time, watched).await?
            {
                Watched { run, recent } = watched.map_err(refused)?;
            }
        }

        let last = if bound == 0 { run.last_event_id() } else { bound };
        let limits = PageLimits::of(request.maximum_page_size);
        let mut events = read_forwards(self.runtime(), &run, recent, first, last, limits).await?;
        let next = events.last_event_id.map_or(first, |event_id| event_id + 1);
        let is_last_page = next > last;
        if is_last_page && last == run.last_event_id() && self.gets_transient_events() {
            transient_events(&run).iter().for_each(|event| events.push(event));
        }
        let more_comes = request.wait_new_event && bound == 0 && run.is_open();
        let cursor = HistoryCursor {
            run_id: run.head.run_id.clone(),
            next_event_id: next,
            last_event_id: bound,
        };
        let next = (!is_last_page || more_comes).then(|| token(keys, &run, &cursor));
        Ok(page(events, next))
    }

    /// A page with only the close event; empty while the run is open.
    async fn close_event(
        &self,
        mut target: RunName,
        wait: bool,
        keys: &Keys,
    ) -> RpcResult<HistoryPage> {
        if target.run_id.is_empty() {
            // The wait is for the run that is current now, not for later ones.
            target.run_id.clone_from(&self.read(target.clone()).await?.head.run_id);
        }
        let closed = if wait {
            let closed = self.runtime().watch_close(target.clone());
            self.wait(LongPoll::History, self.shared().config.long_poll_time, closed).await?
        } else {
            None
        };
        let Watched { run, recent } = match closed {
            Some(closed) => closed.map_err(refused)?,
            None => Watched { run: self.read(target).await?, recent: Vec::new() },
        };
        if run.is_open() {
            let cursor = HistoryCursor {
                run_id: run.head.run_id.clone(),
                next_event_id: run.head.next_event_id,
                last_event_id: 0,
            };
            return Ok(page(Events::default(), wait.then(|| token(keys, &run, &cursor))));
        }
        let last = run.last_event_id();
        let events =
            read_forwards(self.runtime(), &run, recent, last, last, PageLimits::of(1)).await?;
        let events = if self.follows_next_run_id() { events } else { continued(events)? };
        Ok(page(events, None))
    }

    pub(crate) async fn get_workflow_execution_history_reverse(
        &self,
        request: GetWorkflowExecutionHistoryReverseRequest,
    ) -> RpcResult<GetWorkflowExecutionHistoryReverseResponse> {
        let mut target = self.run_name(&request.namespace, request.execution)?;
        let (keys, token) = (self.token_keys().await?, &request.next_page_token);
        let cursor = HistoryCursor::read(keys, Direction::Backwards, token, &target)?;
        if let Some(cursor) = &cursor {
            target.run_id.clone_from(&cursor.run_id);
        }
        let run = self.read(target).await?;
        let last = cursor.map_or(run.last_event_id(), |cursor| cursor.next_event_id);
        let limits = PageLimits::of(request.maximum_page_size);
        let events = read_backwards(self.runtime(), &run, last, limits).await?;
        let next = events.last().map_or(0, |event| event.event_id - 1);
        let cursor = HistoryCursor {
            run_id: run.head.run_id.clone(),
            next_event_id: next,
            last_event_id: 0,
        };
        let next_page_token = if next > 0 {
            cursor.signed(keys, Direction::Backwards, run.head.namespace, &run.head.workflow_id)
        } else {
            Vec::new()
        };
        Ok(GetWorkflowExecutionHistoryReverseResponse {
            history: Some(History { events }),
            next_page_token,
        })
    }

    /// Whether the client gets the events of a transient task. Workers need them; tools would show them as history.
    fn gets_transient_events(&self) -> bool {
        !["perennial-cli", "temporal-cli", "temporal-ui"].contains(&self.client_name())
    }
}

/// Replaces a close event that names a next run with continued-as-new. Older clients follow only that, and would take
/// the end of one attempt for the end of the workflow.
fn continued(close: Events) -> RpcResult<Events> {
    let mut continued = Events::default();
    for event in close.decoded()?.events {
        let attributes = event.attributes.as_ref().and_then(as_continued_as_new);
        continued.push(&match attributes {
            Some(attributes) => HistoryEvent {
                event_id: event.event_id,
                event_time: event.event_time,
                event_type: EventType::WorkflowExecutionContinuedAsNew.into(),
                version: event.version,
                task_id: event.task_id,
                attributes: Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(
                    attributes,
                )),
                ..HistoryEvent::default()
            },
            None => event,
        });
    }
    Ok(continued)
}

#[allow(
    deprecated,
    reason = "Temporal's server tells the failure too, which these clients may show"
)]
fn as_continued_as_new(
    close: &Attributes,
) -> Option<WorkflowExecutionContinuedAsNewEventAttributes> {
    let (new_execution_run_id, last_completion_result, failure) = match close {
        Attributes::WorkflowExecutionCompletedEventAttributes(it) => {
            (&it.new_execution_run_id, it.result.clone(), None)
        }
        Attributes::WorkflowExecutionFailedEventAttributes(it) => {
            (&it.new_execution_run_id, None, it.failure.clone())
        }
        Attributes::WorkflowExecutionTimedOutEventAttributes(it) => {
            (&it.new_execution_run_id, None, Some(timeout_failure()))
        }
        // Other events name no next run, or are continued-as-new.
        _ => return None,
    };
    (!new_execution_run_id.is_empty()).then(|| WorkflowExecutionContinuedAsNewEventAttributes {
        new_execution_run_id: new_execution_run_id.clone(),
        last_completion_result,
        failure,
        ..WorkflowExecutionContinuedAsNewEventAttributes::default()
    })
}

fn token(keys: &Keys, run: &Run, cursor: &HistoryCursor) -> Vec<u8> {
    cursor.signed(keys, Direction::Forwards, run.head.namespace, &run.head.workflow_id)
}

fn page(events: Events, next: Option<Vec<u8>>) -> HistoryPage {
    let response = GetWorkflowExecutionHistoryResponse {
        next_page_token: next.unwrap_or_default(),
        ..GetWorkflowExecutionHistoryResponse::default()
    };
    WithHistory { response, history: Some(events) }
}
