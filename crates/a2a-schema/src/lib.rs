//! The schema of Agent2Agent 1.0, and messages of its gRPC service as JSON and back: what ProtoJSON makes of them, which is the
//! JSON of the other bindings.
//! Must not know: what a message means, or who sends it.

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
pub static SERVICE: LazyLock<ServiceDescriptor> = LazyLock::new(|| {
    // It has the types of google.protobuf.
    let mut pool = DescriptorPool::global();
    pool.decode_file_descriptor_proto(SCHEMA).expect("the schema is part of the program, and tests read it");
    pool.get_service_by_name("lf.a2a.v1.A2AService").expect("the schema has the service")
});

/// Whole numbers up to here are exact as a `double`, which is what numbers in metadata and data are.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads the messages of one method that come, and writes those that go.
#[derive(Debug)]
pub struct JsonCodec {
    taken: MessageDescriptor,
    given: MessageDescriptor,
}

/// Reads messages.
#[derive(Debug)]
pub struct JsonDecoder(MessageDescriptor);

/// Writes them.
#[derive(Debug)]
pub struct JsonEncoder(MessageDescriptor);

impl JsonCodec {
    /// Of a server, which takes what the method asks.
    pub fn of(method: &MethodDescriptor) -> Self {
        Self { taken: method.input(), given: method.output() }
    }

    /// Of a client, which takes what the method answers.
    pub fn of_client(method: &MethodDescriptor) -> Self {
        Self { taken: method.output(), given: method.input() }
    }
}

/// A message of the schema as it is once it was sent: JSON with what the schema has of it.
///
/// # Errors
/// When the schema has no such message, or the value has a member that the message has not.
pub fn sent(message: &str, value: Value) -> Result<Value, String> {
    let message = SERVICE.parent_pool().get_message_by_name(&format!("lf.a2a.v1.{message}"));
    let message = message.ok_or("there is no such message")?;
    let said = |fault: &dyn std::fmt::Display| fault.to_string();
    let bytes = DynamicMessage::deserialize(message.clone(), value).map_err(|no| said(&no))?.encode_to_vec();
    let read = DynamicMessage::decode(message, &*bytes).map_err(|no| said(&no))?;
    let mut value =
        read.serialize_with_options(value::Serializer, &SerializeOptions::new()).map_err(|no| said(&no))?;
    make_whole(&mut value);
    Ok(value)
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
        assert_eq!(super::sent("SendMessageRequest", sent.clone()), Ok(sent));
        let task = json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-11-23T12:00:00.123Z"},
            "artifacts": [{"artifactId": "a", "parts": [{"text": "x"}], "metadata": {"bytes": 9_007_199_254_740_991_i64}}],
        });
        let update = json!({"task": task});
        assert_eq!(super::sent("StreamResponse", update.clone()), Ok(update));
        assert!(super::sent("StreamResponse", json!({"odd": 1})).is_err());
        assert!(super::sent("Nothing", json!({})).is_err());
    }
}
