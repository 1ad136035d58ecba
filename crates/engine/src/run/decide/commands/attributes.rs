//! Commands that record a workflow's own data: markers, search attributes, memo.

use perennial_proto::temporal::command::v1::{
    ModifyWorkflowPropertiesCommandAttributes, RecordMarkerCommandAttributes,
    UpsertWorkflowSearchAttributesCommandAttributes,
};
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::history::v1::{
    MarkerRecordedEventAttributes, UpsertWorkflowSearchAttributesEventAttributes,
    WorkflowPropertiesModifiedEventAttributes,
};
use prost::Message;

use super::{CommandFailure, Step};
use crate::run::event::Attributes;

pub(super) fn record_marker(
    step: &mut Step<'_, '_>,
    wanted: RecordMarkerCommandAttributes,
) -> Result<(), CommandFailure> {
    let cause = WorkflowTaskFailedCause::BadRecordMarkerAttributes;
    if wanted.marker_name.is_empty() {
        return Err(CommandFailure::new(cause, "MarkerName is not set on RecordMarkerCommand."));
    }
    let bytes = wanted.details.values().map(Message::encoded_len).sum();
    step.check_payloads(cause, bytes, "RecordMarkerCommandAttributes.Details")?;
    step.record(Attributes::MarkerRecordedEventAttributes(MarkerRecordedEventAttributes {
        marker_name: wanted.marker_name,
        details: wanted.details,
        workflow_task_completed_event_id: step.completed_event_id,
        header: wanted.header,
        failure: wanted.failure,
    }));
    Ok(())
}

pub(super) fn upsert_search_attributes(
    step: &mut Step<'_, '_>,
    wanted: UpsertWorkflowSearchAttributesCommandAttributes,
) -> Result<(), CommandFailure> {
    let cause = WorkflowTaskFailedCause::BadSearchAttributes;
    let bad = |message: &str| Err(CommandFailure::new(cause, message));
    let Some(attributes) = &wanted.search_attributes else {
        return bad("SearchAttributes is not set on UpsertWorkflowSearchAttributesCommand.");
    };
    if attributes.indexed_fields.is_empty() {
        return bad("IndexedFields is not set on UpsertWorkflowSearchAttributesCommand.");
    }
    let namespace = step.own_namespace();
    let typed = step.typed_search_attributes(wanted.search_attributes, &namespace, |why| why)?;
    step.record(Attributes::UpsertWorkflowSearchAttributesEventAttributes(
        UpsertWorkflowSearchAttributesEventAttributes {
            workflow_task_completed_event_id: step.completed_event_id,
            search_attributes: typed,
        },
    ));
    step.draft.is_visible = true;
    Ok(())
}

pub(super) fn modify_properties(
    step: &mut Step<'_, '_>,
    wanted: ModifyWorkflowPropertiesCommandAttributes,
) -> Result<(), CommandFailure> {
    let cause = WorkflowTaskFailedCause::BadModifyWorkflowPropertiesAttributes;
    let bad = |message: &str| Err(CommandFailure::new(cause, message));
    let Some(memo) = &wanted.upserted_memo else {
        return bad("UpsertedMemo is not set on ModifyWorkflowPropertiesCommand.");
    };
    if memo.fields.is_empty() {
        return bad("UpsertedMemo.Fields is not set on ModifyWorkflowPropertiesCommand.");
    }
    step.check_memo(cause, memo.encoded_len(), "ModifyWorkflowPropertiesCommandAttributes. Memo")?;
    step.record(Attributes::WorkflowPropertiesModifiedEventAttributes(
        WorkflowPropertiesModifiedEventAttributes {
            workflow_task_completed_event_id: step.completed_event_id,
            upserted_memo: wanted.upserted_memo,
        },
    ));
    step.draft.is_visible = true;
    Ok(())
}
