//! Reads histories, event by event.

use std::collections::VecDeque;

use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::HistoryEventFilterType;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_proto::temporal::workflowservice::v1::{
    GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryReverseRequest,
};

use crate::client::{Client, long_poll};
use crate::failure::{Exit, ExitError};

/// The order of events, and whether to wait for new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadMode {
    Forwards,
    /// Waits for new events until the workflow ends, and follows runs that continue as new.
    Following,
    Backwards,
}

/// The events of a run. Only one page is in memory.
pub(super) struct Events {
    client: Client,
    execution: WorkflowExecution,
    mode: ReadMode,
    page: VecDeque<HistoryEvent>,
    /// Token of the next page; `None` before the first page.
    token: Option<Vec<u8>>,
}

impl Events {
    pub(super) fn of(client: &Client, execution: WorkflowExecution, mode: ReadMode) -> Self {
        Events { client: client.clone(), execution, mode, page: VecDeque::new(), token: None }
    }

    /// The next event, or `None` after the last. Waits for one in [`ReadMode::Following`].
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<HistoryEvent>> {
        while self.page.is_empty() {
            if self.token.as_ref().is_some_and(Vec::is_empty) {
                return Ok(None);
            }
            self.turn_page().await?;
        }
        let event = self.page.pop_front();
        if let Some(next_run) = event.as_ref().and_then(continued_as)
            && self.mode == ReadMode::Following
        {
            self.execution.run_id = next_run;
            self.token = None;
        }
        Ok(event)
    }

    /// Whether the next event is in memory already.
    pub(super) fn is_at_hand(&self) -> bool {
        !self.page.is_empty()
    }

    async fn turn_page(&mut self) -> anyhow::Result<()> {
        let next_page_token = self.token.take().unwrap_or_default();
        let (history, token) = match self.mode {
            ReadMode::Backwards => {
                let request = GetWorkflowExecutionHistoryReverseRequest {
                    namespace: self.client.namespace.clone(),
                    execution: Some(self.execution.clone()),
                    next_page_token,
                    ..GetWorkflowExecutionHistoryReverseRequest::default()
                };
                let mut service = self.client.workflow();
                let page = service.get_workflow_execution_history_reverse(request).await?;
                let page = page.into_inner();
                (page.history, page.next_page_token)
            }
            ReadMode::Forwards | ReadMode::Following => {
                let request = GetWorkflowExecutionHistoryRequest {
                    namespace: self.client.namespace.clone(),
                    execution: Some(self.execution.clone()),
                    next_page_token,
                    wait_new_event: self.mode == ReadMode::Following,
                    ..GetWorkflowExecutionHistoryRequest::default()
                };
                ask(&self.client, request).await?
            }
        };
        self.page.extend(history.unwrap_or_default().events);
        self.token = Some(token);
        Ok(())
    }
}

/// Fetches only the first event of a run.
pub(super) async fn first_event(
    client: &Client,
    execution: WorkflowExecution,
) -> anyhow::Result<Option<HistoryEvent>> {
    let request = GetWorkflowExecutionHistoryRequest {
        namespace: client.namespace.clone(),
        execution: Some(execution),
        maximum_page_size: 1,
        ..GetWorkflowExecutionHistoryRequest::default()
    };
    let (history, _) = ask(client, request).await?;
    Ok(history.unwrap_or_default().events.into_iter().next())
}

/// Waits until the workflow's last run has closed, and returns its close event.
pub(super) async fn close_event(
    client: &Client,
    mut execution: WorkflowExecution,
) -> anyhow::Result<HistoryEvent> {
    loop {
        let event = closed(client, execution.clone(), true).await?;
        match continued_as(&event) {
            Some(run_id) => execution.run_id = run_id,
            None => return Ok(event),
        }
    }
}

/// The close event of the run. Waits for it if `wait` is set.
pub(super) async fn closed(
    client: &Client,
    execution: WorkflowExecution,
    wait: bool,
) -> anyhow::Result<HistoryEvent> {
    let mut next_page_token = Vec::new();
    loop {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: client.namespace.clone(),
            execution: Some(execution.clone()),
            next_page_token,
            wait_new_event: wait,
            history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let (history, token) = ask(client, request).await?;
        if let Some(event) = history.unwrap_or_default().events.pop() {
            return Ok(event);
        }
        if token.is_empty() {
            return Err(ExitError {
                exit: Exit::Failed,
                message: "the history has no event that closes the run".to_owned(),
            }
            .into());
        }
        next_page_token = token;
    }
}

async fn ask(
    client: &Client,
    request: GetWorkflowExecutionHistoryRequest,
) -> anyhow::Result<(Option<History>, Vec<u8>)> {
    let page = long_poll(request, async |request| {
        client.workflow().get_workflow_execution_history(request).await
    })
    .await?;
    Ok((page.history, page.next_page_token))
}

/// The run that continues the one closed by this event.
fn continued_as(event: &HistoryEvent) -> Option<String> {
    let run_id = match event.attributes.as_ref()? {
        Attributes::WorkflowExecutionContinuedAsNewEventAttributes(it) => &it.new_execution_run_id,
        Attributes::WorkflowExecutionCompletedEventAttributes(it) => &it.new_execution_run_id,
        Attributes::WorkflowExecutionFailedEventAttributes(it) => &it.new_execution_run_id,
        Attributes::WorkflowExecutionTimedOutEventAttributes(it) => &it.new_execution_run_id,
        _ => return None,
    };
    (!run_id.is_empty()).then(|| run_id.clone())
}
