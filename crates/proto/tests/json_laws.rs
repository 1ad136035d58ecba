//! Whatever a message holds, JSON holds it too.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

use perennial_proto::descriptors;
use perennial_proto::json::{self, Payloads};
use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::prost::bytes::Bytes;
use perennial_proto::prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn message_written_in_either_form_reads_back_as_itself(seed: u64) {
        let mut chance = Chance(seed);
        let message = chance.request();
        for payloads in [Payloads::Shorthand, Payloads::Full] {
            let json = json::encode(&message, payloads);
            // As text, which is how it travels.
            let json = serde_json::from_str(&json.to_string()).unwrap();
            let read = json::decode(message.descriptor(), &json, payloads);
            prop_assert!(are_same(&read, &message), "{}", json);
        }
    }

    #[test]
    fn json_is_measured_as_it_is_parsed(seed: u64) {
        let mut chance = Chance(seed);
        let message = chance.request();
        let json = json::encode(&message, Payloads::Shorthand);
        let texts = [json.to_string(), serde_json::to_string_pretty(&json).unwrap()];
        for text in texts {
            prop_assert_eq!(json::measure(text.as_bytes()).values, values_of(&json), "{}", text);
        }
        // So that many messages are enough to read it.
        let bound = values_of(&json);
        let read = json::decode_at_most(message.descriptor(), &json, Payloads::Shorthand, bound);
        prop_assert!(are_same(&read, &message), "{}", json);
    }

    #[test]
    fn any_json_is_read_or_refused_and_what_is_read_can_be_written(seed: u64) {
        let mut chance = Chance(seed);
        let message = chance.request();
        let request = message.descriptor();
        let mut json = json::encode(&message, Payloads::Shorthand);
        chance.spoil(&mut json);
        match json::decode(request.clone(), &json, Payloads::Shorthand) {
            Ok(read) => {
                let again = json::encode(&read, Payloads::Shorthand);
                let read_again = json::decode(request, &again, Payloads::Shorthand);
                prop_assert!(are_same(&read_again, &read), "{} {}", json, again);
            }
            Err(error) => prop_assert!(!error.problem.is_empty()),
        }
    }
}

/// Values and keys.
fn values_of(json: &serde_json::Value) -> usize {
    let within = match json {
        serde_json::Value::Array(values) => values.iter().map(values_of).sum(),
        serde_json::Value::Object(entries) => entries.values().map(|it| 1 + values_of(it)).sum(),
        _ => 0,
    };
    1 + within
}

/// As they come over the wire: a field that was set to its default is as good as one that wasn't set.
fn are_same(read: &Result<DynamicMessage, json::Error>, message: &DynamicMessage) -> bool {
    let on_the_wire = |message: &DynamicMessage| {
        DynamicMessage::decode(message.descriptor(), message.encode_to_vec().as_slice()).unwrap()
    };
    read.as_ref().is_ok_and(|read| on_the_wire(read) == on_the_wire(message))
}

/// Messages hold messages this far.
const DEPTH_MAX: usize = 4;

/// Chance that a seed decides.
#[derive(Clone)]
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// What some RPC takes or gives, as it comes over the wire.
    fn request(&mut self) -> DynamicMessage {
        let descriptor = self.any_request();
        let bytes = self.message(&descriptor, 0).encode_to_vec();
        DynamicMessage::decode(descriptor, bytes.as_slice()).unwrap()
    }

    fn any_request(&mut self) -> MessageDescriptor {
        let services: Vec<_> = descriptors().services().collect();
        let methods: Vec<_> = self.pick(&services).methods().collect();
        let method = self.pick(&methods);
        if self.below(2) == 0 { method.input() } else { method.output() }
    }

    fn message(&mut self, descriptor: &MessageDescriptor, depth: usize) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        match descriptor.full_name() {
            "google.protobuf.Timestamp" | "google.protobuf.Duration" => {
                let seconds = i64::try_from(self.next() % 4_000_000_000).unwrap();
                message.set_field_by_name("seconds", Value::I64(seconds));
                let nanos = self.pick(&[0, 5_000_000, 7_000, 999_999_999]);
                message.set_field_by_name("nanos", Value::I32(nanos));
                return message;
            }
            "google.protobuf.FieldMask" => {
                let paths = vec![Value::String("a_b.c".to_owned())];
                message.set_field_by_name("paths", Value::List(paths));
                return message;
            }
            "google.protobuf.Any" => {
                let inner = self.any_request();
                // Without maps: the same map has many encodings.
                let inner = self.message(&inner, depth.max(DEPTH_MAX));
                let url = format!("type.googleapis.com/{}", inner.descriptor().full_name());
                message.set_field_by_name("type_url", Value::String(url));
                let bytes = Bytes::from(inner.encode_to_vec());
                message.set_field_by_name("value", Value::Bytes(bytes));
                return message;
            }
            "temporal.api.common.v1.Payload" => return self.payload(message),
            _ => {}
        }
        for field in descriptor.fields() {
            let is_deep = matches!(field.kind(), Kind::Message(_)) && depth >= DEPTH_MAX;
            let is_taken = field
                .containing_oneof()
                .is_some_and(|one| one.fields().any(|other| message.has_field(&other)));
            if !is_deep && !is_taken && self.below(3) == 0 {
                let value = self.field(&field, depth);
                message.set_field(&field, value);
            }
        }
        message
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Value {
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let (key, value) =
                    (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
                let entries = (0..self.below(3)).map(|_| {
                    let key = self.single(&key, depth).into_map_key().unwrap();
                    (key, self.single(&value, depth + 1))
                });
                Value::Map(entries.collect::<std::collections::HashMap<MapKey, Value>>())
            }
            kind if field.is_list() => {
                Value::List((0..self.below(3)).map(|_| self.single(&kind, depth + 1)).collect())
            }
            kind => self.single(&kind, depth + 1),
        }
    }

    fn single(&mut self, kind: &Kind, depth: usize) -> Value {
        match kind {
            Kind::Bool => Value::Bool(self.below(2) == 0),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => Value::Bytes(Bytes::from(self.text())),
            Kind::Double => {
                Value::F64(self.pick(&[0.1, -2.5e300, f64::INFINITY, 9_007_199_254_740_993.0]))
            }
            Kind::Float => Value::F32(self.pick(&[0.1, -3.4e38, f32::NEG_INFINITY, 16_777_216.0])),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(self.next() as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(self.next() as i64),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(self.next() as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(self.next()),
            // A number that has no name too.
            Kind::Enum(_) => Value::EnumNumber(i32::try_from(self.below(5)).unwrap()),
            Kind::Message(inner) => Value::Message(self.message(inner, depth)),
        }
    }

    fn text(&mut self) -> String {
        self.pick(&["", "a", "é\"\\\u{0}", "null", "@type", "_protoMessageType", "ab+/==", "1"])
            .to_owned()
    }

    /// Payloads of every encoding, and ones that look like something else.
    fn payload(&mut self, mut payload: DynamicMessage) -> DynamicMessage {
        let encoding =
            self.pick(&["json/plain", "json/plain", "json/protobuf", "binary/null", "x/y"]);
        let data = self.pick(&[
            "",
            "null",
            "7",
            "[]",
            "not json",
            r#"{"b":1,"a":null}"#,
            r#"{"_protoMessageType":"x"}"#,
            r#"{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"MQ=="}"#,
            r#"{"metadata":{}}"#,
        ]);
        let mut metadata = std::collections::HashMap::new();
        let mut put = |key: &str, value: &str| {
            let value = Value::Bytes(Bytes::from(value.to_owned()));
            metadata.insert(MapKey::String(key.to_owned()), value);
        };
        put("encoding", encoding);
        if self.below(2) == 0 {
            put("messageType", "a.B");
        }
        payload.set_field_by_name("metadata", Value::Map(metadata));
        payload.set_field_by_name("data", Value::Bytes(Bytes::from_static(data.as_bytes())));
        payload
    }

    /// Puts something else somewhere.
    fn spoil(&mut self, json: &mut serde_json::Value) {
        let inner = match json {
            serde_json::Value::Object(object) if !object.is_empty() => {
                let index = self.below(object.len());
                object.values_mut().nth(index)
            }
            serde_json::Value::Array(values) if !values.is_empty() => {
                let index = self.below(values.len());
                values.get_mut(index)
            }
            _ => None,
        };
        match inner {
            Some(inner) if self.below(4) > 0 => self.spoil(inner),
            _ => {
                *json = self.pick(&[
                    serde_json::json!(null),
                    serde_json::json!(true),
                    serde_json::json!(1e300),
                    serde_json::json!(-1),
                    serde_json::json!("text"),
                    serde_json::json!([[]]),
                    serde_json::json!({"@type": "x", "metadata": {"encoding": "a/b"}}),
                ]);
            }
        }
    }
}
