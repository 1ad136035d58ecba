//! Construction of history events.

use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::history::v1::HistoryEvent;
pub(crate) use perennial_proto::temporal::history::v1::history_event::Attributes;

/// An event without id and time: those are set when it is recorded.
pub(crate) fn event(attributes: Attributes) -> HistoryEvent {
    let event_type = event_type(&attributes);
    HistoryEvent {
        event_type: event_type.into(),
        worker_may_ignore: may_be_ignored(event_type),
        attributes: Some(attributes),
        ..HistoryEvent::default()
    }
}

/// Whether a worker that doesn't know this kind of event may ignore it.
fn may_be_ignored(kind: EventType) -> bool {
    matches!(kind, EventType::WorkflowExecutionPaused | EventType::WorkflowExecutionUnpaused)
}

/// The event type that has these attributes.
macro_rules! event_types {
    ($($attributes:ident => $kind:ident,)*) => {
        fn event_type(attributes: &Attributes) -> EventType {
            match attributes {
                $(Attributes::$attributes(_) => EventType::$kind,)*
            }
        }
    };
}

event_types! {
    WorkflowExecutionStartedEventAttributes => WorkflowExecutionStarted,
    WorkflowExecutionCompletedEventAttributes => WorkflowExecutionCompleted,
    WorkflowExecutionFailedEventAttributes => WorkflowExecutionFailed,
    WorkflowExecutionTimedOutEventAttributes => WorkflowExecutionTimedOut,
    WorkflowTaskScheduledEventAttributes => WorkflowTaskScheduled,
    WorkflowTaskStartedEventAttributes => WorkflowTaskStarted,
    WorkflowTaskCompletedEventAttributes => WorkflowTaskCompleted,
    WorkflowTaskTimedOutEventAttributes => WorkflowTaskTimedOut,
    WorkflowTaskFailedEventAttributes => WorkflowTaskFailed,
    ActivityTaskScheduledEventAttributes => ActivityTaskScheduled,
    ActivityTaskStartedEventAttributes => ActivityTaskStarted,
    ActivityTaskCompletedEventAttributes => ActivityTaskCompleted,
    ActivityTaskFailedEventAttributes => ActivityTaskFailed,
    ActivityTaskTimedOutEventAttributes => ActivityTaskTimedOut,
    TimerStartedEventAttributes => TimerStarted,
    TimerFiredEventAttributes => TimerFired,
    ActivityTaskCancelRequestedEventAttributes => ActivityTaskCancelRequested,
    ActivityTaskCanceledEventAttributes => ActivityTaskCanceled,
    TimerCanceledEventAttributes => TimerCanceled,
    MarkerRecordedEventAttributes => MarkerRecorded,
    WorkflowExecutionSignaledEventAttributes => WorkflowExecutionSignaled,
    WorkflowExecutionTerminatedEventAttributes => WorkflowExecutionTerminated,
    WorkflowExecutionCancelRequestedEventAttributes => WorkflowExecutionCancelRequested,
    WorkflowExecutionCanceledEventAttributes => WorkflowExecutionCanceled,
    RequestCancelExternalWorkflowExecutionInitiatedEventAttributes => RequestCancelExternalWorkflowExecutionInitiated,
    RequestCancelExternalWorkflowExecutionFailedEventAttributes => RequestCancelExternalWorkflowExecutionFailed,
    ExternalWorkflowExecutionCancelRequestedEventAttributes => ExternalWorkflowExecutionCancelRequested,
    WorkflowExecutionContinuedAsNewEventAttributes => WorkflowExecutionContinuedAsNew,
    StartChildWorkflowExecutionInitiatedEventAttributes => StartChildWorkflowExecutionInitiated,
    StartChildWorkflowExecutionFailedEventAttributes => StartChildWorkflowExecutionFailed,
    ChildWorkflowExecutionStartedEventAttributes => ChildWorkflowExecutionStarted,
    ChildWorkflowExecutionCompletedEventAttributes => ChildWorkflowExecutionCompleted,
    ChildWorkflowExecutionFailedEventAttributes => ChildWorkflowExecutionFailed,
    ChildWorkflowExecutionCanceledEventAttributes => ChildWorkflowExecutionCanceled,
    ChildWorkflowExecutionTimedOutEventAttributes => ChildWorkflowExecutionTimedOut,
    ChildWorkflowExecutionTerminatedEventAttributes => ChildWorkflowExecutionTerminated,
    SignalExternalWorkflowExecutionInitiatedEventAttributes => SignalExternalWorkflowExecutionInitiated,
    SignalExternalWorkflowExecutionFailedEventAttributes => SignalExternalWorkflowExecutionFailed,
    ExternalWorkflowExecutionSignaledEventAttributes => ExternalWorkflowExecutionSignaled,
    UpsertWorkflowSearchAttributesEventAttributes => UpsertWorkflowSearchAttributes,
    WorkflowExecutionUpdateAcceptedEventAttributes => WorkflowExecutionUpdateAccepted,
    WorkflowExecutionUpdateRejectedEventAttributes => WorkflowExecutionUpdateRejected,
    WorkflowExecutionUpdateCompletedEventAttributes => WorkflowExecutionUpdateCompleted,
    WorkflowPropertiesModifiedExternallyEventAttributes => WorkflowPropertiesModifiedExternally,
    ActivityPropertiesModifiedExternallyEventAttributes => ActivityPropertiesModifiedExternally,
    WorkflowPropertiesModifiedEventAttributes => WorkflowPropertiesModified,
    WorkflowExecutionUpdateAdmittedEventAttributes => WorkflowExecutionUpdateAdmitted,
    NexusOperationScheduledEventAttributes => NexusOperationScheduled,
    NexusOperationStartedEventAttributes => NexusOperationStarted,
    NexusOperationCompletedEventAttributes => NexusOperationCompleted,
    NexusOperationFailedEventAttributes => NexusOperationFailed,
    NexusOperationCanceledEventAttributes => NexusOperationCanceled,
    NexusOperationTimedOutEventAttributes => NexusOperationTimedOut,
    NexusOperationCancelRequestedEventAttributes => NexusOperationCancelRequested,
    WorkflowExecutionOptionsUpdatedEventAttributes => WorkflowExecutionOptionsUpdated,
    NexusOperationCancelRequestCompletedEventAttributes => NexusOperationCancelRequestCompleted,
    NexusOperationCancelRequestFailedEventAttributes => NexusOperationCancelRequestFailed,
    WorkflowExecutionPausedEventAttributes => WorkflowExecutionPaused,
    WorkflowExecutionUnpausedEventAttributes => WorkflowExecutionUnpaused,
    WorkflowExecutionTimeSkippingTransitionedEventAttributes => WorkflowExecutionTimeSkippingTransitioned,
}
