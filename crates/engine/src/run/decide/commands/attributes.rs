//! What a workflow writes down about itself: markers, search attributes, memo.

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
    let fields = wanted.search_attributes.clone().unwrap_or_default().indexed_fields;
    if fields.is_empty() {
        return Err(CommandFailure::new(
            cause,
            "IndexedFields is not set on UpsertWorkflowSearchAttributesCommand.",
        ));
    }
    for name in fields.keys() {
        if !step.complete.search_attribute_types.contains_key(name) {
            return Err(CommandFailure::new(
                cause,
                format!("search attribute {name} is not defined"),
            ));
        }
    }
    step.record(Attributes::UpsertWorkflowSearchAttributesEventAttributes(
        UpsertWorkflowSearchAttributesEventAttributes {
            workflow_task_completed_event_id: step.completed_event_id,
            search_attributes: wanted.search_attributes,
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
    if wanted.upserted_memo.as_ref().is_none_or(|memo| memo.fields.is_empty()) {
        return Err(CommandFailure::new(
            cause,
            "ModifyWorkflowPropertiesCommandAttributes attributes are not all nil. At least one must be set.",
        ));
    }
    let bytes = wanted.upserted_memo.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(cause, bytes, "ModifyWorkflowPropertiesCommandAttributes")?;
    step.record(Attributes::WorkflowPropertiesModifiedEventAttributes(
        WorkflowPropertiesModifiedEventAttributes {
            workflow_task_completed_event_id: step.completed_event_id,
            upserted_memo: wanted.upserted_memo,
        },
    ));
    step.draft.is_visible = true;
    Ok(())
}
