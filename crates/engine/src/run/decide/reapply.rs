//! Reset: applies events after the reset point to the new run.

use perennial_proto::temporal::enums::v1::UpdateAdmittedEventOrigin;
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionUpdateAdmittedEventAttributes,
};
use perennial_proto::temporal::update::v1::Request;

use super::signal::is_repeated;
use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};

/// The kinds of events to reapply, beside the outcomes of children.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reapply {
    pub(super) signals: bool,
    pub(super) updates: bool,
}

impl Reapply {
    pub(super) fn event(self, draft: &mut Draft<'_>, happened: &HistoryEvent) {
        let Some(attributes) = happened.attributes.clone() else { return };
        match attributes {
            Attributes::WorkflowExecutionSignaledEventAttributes(signaled)
                // Two runs of the chain may both have received the request, if its sender retried.
                if self.signals && !is_repeated(&draft.run, &signaled.request_id) =>
            {
                let attributes =
                    Attributes::WorkflowExecutionSignaledEventAttributes(signaled);
                let mut again = event(attributes);
                again.links.clone_from(&happened.links);
                draft.record_event(again);
            }
            Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(admitted) => {
                self.update(draft, admitted.request);
            }
            // If the event has no request, an earlier event admitted the update, and was reapplied.
            Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
                self.update(draft, accepted.accepted_request);
            }
            Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(_) => {
                let mut again = event(attributes);
                again.links.clone_from(&happened.links);
                draft.record_event(again);
            }
            other => reapply_child(draft, other),
        }
    }

    fn update(self, draft: &mut Draft<'_>, request: Option<Request>) {
        let Some(request) = request.filter(|_| self.updates) else { return };
        let id = request.meta.as_ref().map_or("", |meta| meta.update_id.as_str());
        if draft.run.updates.contains_key(id) {
            return;
        }
        draft.record(Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(
            WorkflowExecutionUpdateAdmittedEventAttributes {
                request: Some(request),
                origin: UpdateAdmittedEventOrigin::Reapply.into(),
            },
        ));
    }
}

/// Reapplies the outcome of a child that the new run has too.
fn reapply_child(draft: &mut Draft<'_>, mut happened: Attributes) {
    use Attributes as A;
    let (initiated_event_id, started_event_id) = match &mut happened {
        A::StartChildWorkflowExecutionFailedEventAttributes(it) => (it.initiated_event_id, None),
        A::ChildWorkflowExecutionStartedEventAttributes(it) => (it.initiated_event_id, None),
        A::ChildWorkflowExecutionCompletedEventAttributes(it) => {
            (it.initiated_event_id, Some(&mut it.started_event_id))
        }
        A::ChildWorkflowExecutionFailedEventAttributes(it) => {
            (it.initiated_event_id, Some(&mut it.started_event_id))
        }
        A::ChildWorkflowExecutionCanceledEventAttributes(it) => {
            (it.initiated_event_id, Some(&mut it.started_event_id))
        }
        A::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
            (it.initiated_event_id, Some(&mut it.started_event_id))
        }
        A::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
            (it.initiated_event_id, Some(&mut it.started_event_id))
        }
        _ => return,
    };
    let Some(child) = draft.run.children.get(&initiated_event_id) else { return };
    let has_started = child.started_event_id != 0;
    match started_event_id {
        Some(started_event_id) => *started_event_id = child.started_event_id,
        None if has_started => return,
        None => {}
    }
    draft.record(happened);
}
