//! Finds the payloads of a message.

use prost_reflect::{DynamicMessage, ReflectMessage, Value};

const PAYLOAD: &str = "temporal.api.common.v1.Payload";
/// The server reads the payloads of search attributes, so nobody encodes them.
const SEARCH_ATTRIBUTES: &str = "temporal.api.common.v1.SearchAttributes";

/// All payloads of a message that only clients and workers read, in the order of its fields: those of search
/// attributes are left out.
pub fn opaque_payloads(message: &mut DynamicMessage) -> Vec<&mut DynamicMessage> {
    let mut found = Vec::new();
    collect(message, &mut found);
    found
}

fn collect<'m>(message: &'m mut DynamicMessage, found: &mut Vec<&'m mut DynamicMessage>) {
    match message.descriptor().full_name() {
        PAYLOAD => found.push(message),
        SEARCH_ATTRIBUTES => {}
        // Decoding has bounded the depth.
        _ => message.fields_mut().for_each(|(_, value)| collect_value(value, found)),
    }
}

fn collect_value<'m>(value: &'m mut Value, found: &mut Vec<&'m mut DynamicMessage>) {
    match value {
        Value::Message(message) => collect(message, found),
        Value::List(values) => values.iter_mut().for_each(|value| collect_value(value, found)),
        Value::Map(values) => values.values_mut().for_each(|value| collect_value(value, found)),
        Value::Bool(_)
        | Value::I32(_)
        | Value::I64(_)
        | Value::U32(_)
        | Value::U64(_)
        | Value::F32(_)
        | Value::F64(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::EnumNumber(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use prost::Name;

    use super::*;
    use crate::temporal::common::v1::{Memo, Payload, Payloads, SearchAttributes};
    use crate::temporal::workflowservice::v1::StartWorkflowExecutionRequest;

    #[test]
    fn payloads_of_lists_and_maps_are_found_but_not_those_of_search_attributes() {
        let payload = |data: &str| Payload { data: data.into(), ..Payload::default() };
        let fields = |data: &str| [("name".to_owned(), payload(data))].into();
        let request = StartWorkflowExecutionRequest {
            input: Some(Payloads { payloads: vec![payload("first"), payload("second")] }),
            memo: Some(Memo { fields: fields("memo") }),
            search_attributes: Some(SearchAttributes { indexed_fields: fields("attribute") }),
            ..Default::default()
        };
        let name = StartWorkflowExecutionRequest::full_name();
        let descriptor = crate::descriptors().get_message_by_name(&name).unwrap();
        let mut message = DynamicMessage::new(descriptor);
        message.transcode_from(&request).unwrap();
        let found = opaque_payloads(&mut message).into_iter().map(|payload| {
            let payload: Payload = payload.transcode_to().unwrap();
            String::from_utf8(payload.data).unwrap()
        });
        assert_eq!(found.collect::<Vec<_>>(), ["first", "second", "memo"]);
    }
}
