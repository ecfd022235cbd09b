//! Messages of the service as JSON and back: what ProtoJSON makes of them, which is the JSON of the other bindings.
//! Must not know: what a message means.

use std::sync::LazyLock;

use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, MethodDescriptor,
    SerializeOptions, ServiceDescriptor,
};
use serde_json::{Number, Value, value};
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

/// The schema of the specification, `a2a.proto` of 1.0, as a `FileDescriptorProto` without comments and options.
const SCHEMA: &[u8] = include_bytes!("a2a.binpb");

/// The service with its methods and their messages.
pub(super) static SERVICE: LazyLock<ServiceDescriptor> = LazyLock::new(|| {
    // It has the types of google.protobuf.
    let mut pool = DescriptorPool::global();
    pool.decode_file_descriptor_proto(SCHEMA).expect("the schema is part of the program, and tests read it");
    pool.get_service_by_name("lf.a2a.v1.A2AService").expect("the schema has the service")
});

/// Whole numbers up to here are exact as a `double`, which is what numbers in metadata and data are.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// What one method takes and gives.
pub(super) struct JsonCodec {
    taken: MessageDescriptor,
    given: MessageDescriptor,
}

/// Reads messages.
pub(super) struct JsonDecoder(MessageDescriptor);

/// Writes them.
pub(super) struct JsonEncoder(MessageDescriptor);

impl JsonCodec {
    pub(super) fn of(method: &MethodDescriptor) -> Self {
        Self { taken: method.input(), given: method.output() }
    }
}

impl Codec for JsonCodec {
    type Encode = Value;
    type Decode = Value;
    type Encoder = JsonEncoder;
    type Decoder = JsonDecoder;

    fn encoder(&mut self) -> JsonEncoder {
        JsonEncoder(self.given.clone())
    }

    fn decoder(&mut self) -> JsonDecoder {
        JsonDecoder(self.taken.clone())
    }
}

impl Decoder for JsonDecoder {
    type Item = Value;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<Value>, Status> {
        let read = DynamicMessage::decode(self.0.clone(), source).map_err(|fault| fault.to_string());
        let options = SerializeOptions::new();
        let read = read.and_then(|message| {
            message.serialize_with_options(value::Serializer, &options).map_err(|fault| fault.to_string())
        });
        let mut value =
            read.map_err(|fault| Status::invalid_argument(format!("The message cannot be read: {fault}.")))?;
        make_whole(&mut value);
        Ok(Some(value))
    }
}

impl Encoder for JsonEncoder {
    type Item = Value;
    type Error = Status;

    fn encode(&mut self, value: Value, target: &mut EncodeBuf<'_>) -> Result<(), Status> {
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let message = DynamicMessage::deserialize_with_options(self.0.clone(), value, &options);
        let message = message.map_err(|fault| Status::internal(format!("no message: {fault}")))?;
        message.encode(target).map_err(|fault| Status::internal(format!("no message: {fault}")))
    }
}

/// Numbers of metadata and data are doubles there; 7.0 is 7.
#[expect(clippy::cast_possible_truncation, reason = "the number is whole and small enough")]
fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole =
                number.as_f64().filter(|n| number.is_f64() && n.fract() == 0.0 && n.abs() < EXACT_MAX);
            if let Some(whole) = whole {
                *number = Number::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(members) => members.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use prost_reflect::Kind;
    use serde_json::json;

    use super::*;

    /// What a message is on the wire, and read again.
    fn there_and_back(name: &str, value: Value) -> Value {
        let message = SERVICE.parent_pool().get_message_by_name(&format!("lf.a2a.v1.{name}")).unwrap();
        // Here a member that the schema does not have is an error.
        let sent = DynamicMessage::deserialize(message.clone(), value).unwrap().encode_to_vec();
        let read = DynamicMessage::decode(message, &*sent).unwrap();
        let mut value = read.serialize_with_options(value::Serializer, &SerializeOptions::new()).unwrap();
        make_whole(&mut value);
        value
    }

    #[test]
    fn the_schema_has_each_method_of_the_specification() {
        let methods: Vec<_> = SERVICE.methods().map(|method| method.name().to_owned()).collect();
        assert_eq!(methods.len(), 11, "{methods:?}");
        let streams: Vec<_> = SERVICE.methods().filter(|method| method.is_server_streaming()).collect();
        assert_eq!(streams.len(), 2);
        for method in SERVICE.methods() {
            let asks = method.input().get_field_by_name("tenant");
            assert!(asks.is_some_and(|field| field.kind() == Kind::String), "{method:?} names no agent");
        }
    }

    #[test]
    fn a_message_is_the_same_json_again() {
        let sent = json!({
            "message": {
                "messageId": "m-1", "role": "ROLE_USER", "metadata": {"n": 7, "half": 0.5, "no": null},
                "parts": [{"text": "a\u{0}b"}, {"raw": "AP8=", "filename": "f"}, {"data": [1, {"a": true}]}, {"url": "https://h/"}],
            },
            "configuration": {"returnImmediately": true, "historyLength": 0},
        });
        assert_eq!(there_and_back("SendMessageRequest", sent.clone()), sent);
        let task = json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-11-23T12:00:00.123Z"},
            "artifacts": [{"artifactId": "a", "parts": [{"text": "x"}], "metadata": {"bytes": 9_007_199_254_740_991_i64}}],
        });
        let update = json!({"task": task});
        assert_eq!(there_and_back("StreamResponse", update.clone()), update);
    }

    #[test]
    fn a_card_has_only_members_of_the_schema() {
        use crate::{access::VisibleAgent, card};
        let seen = VisibleAgent {
            handle: "@nick.coder".parse().unwrap(),
            descriptor: json!({"purpose": "Codes.", "operations": [{"name": "lint", "description": "Lints."}]}),
            profile: json!({}),
        };
        let mut shown = card::card(&seen, "https://h", card::Extent::Extended);
        shown["signatures"] = json!([{"protected": "e30", "signature": "AA"}]);
        assert_eq!(there_and_back("AgentCard", shown)["skills"][1]["id"], "lint");
    }
}
