//! Messages of A2A 1.0 as they are on the wire: the numbers of their fields are those of `a2a.proto` in the specification.
//! Only what the tests look at. Must not know: our own schema.

use std::collections::HashMap;

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(super) struct SendMessageRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(message, optional, tag = "2")]
    pub(super) message: Option<Said>,
    #[prost(message, optional, tag = "3")]
    pub(super) configuration: Option<Configuration>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Configuration {
    #[prost(message, optional, tag = "2")]
    pub(super) push: Option<PushConfig>,
    #[prost(bool, tag = "4")]
    pub(super) return_immediately: bool,
}

/// `Message`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Said {
    #[prost(string, tag = "1")]
    pub(super) message_id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(string, tag = "3")]
    pub(super) task_id: String,
    #[prost(int32, tag = "4")]
    pub(super) role: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) parts: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Part {
    #[prost(oneof = "Content", tags = "1, 2, 3, 4")]
    pub(super) content: Option<Content>,
    #[prost(string, tag = "7")]
    pub(super) media_type: String,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Content {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bytes, tag = "2")]
    Raw(Vec<u8>),
    #[prost(string, tag = "3")]
    Url(String),
    #[prost(message, tag = "4")]
    Data(Datum),
}

/// `google.protobuf.Struct`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Struct {
    #[prost(map = "string, message", tag = "1")]
    pub(super) fields: HashMap<String, Datum>,
}

/// `google.protobuf.Value`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Datum {
    #[prost(oneof = "Kind", tags = "2, 3, 5, 6")]
    pub(super) kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Kind {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(message, tag = "5")]
    Struct(Struct),
    #[prost(message, tag = "6")]
    List(List),
}

/// `google.protobuf.ListValue`
#[derive(Clone, PartialEq, Message)]
pub(super) struct List {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<Datum>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SendMessageResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) task: Option<Task>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Task {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<Status>,
    #[prost(message, repeated, tag = "4")]
    pub(super) artifacts: Vec<Artifact>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    pub(super) state: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) message: Option<Said>,
    #[prost(message, optional, tag = "3")]
    pub(super) timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Artifact {
    #[prost(string, tag = "1")]
    pub(super) artifact_id: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "4")]
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StreamResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) task: Option<Task>,
    #[prost(message, optional, tag = "3")]
    pub(super) status_update: Option<StatusUpdate>,
    #[prost(message, optional, tag = "4")]
    pub(super) artifact_update: Option<ArtifactUpdate>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusUpdate {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ArtifactUpdate {
    #[prost(message, optional, tag = "3")]
    pub(super) artifact: Option<Artifact>,
    #[prost(bool, tag = "5")]
    pub(super) last_chunk: bool,
}

/// `GetTaskRequest`, `CancelTaskRequest`, `SubscribeToTaskRequest`: alike as far as they are sent here.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OfTask {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ListTasksRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(int32, tag = "3")]
    pub(super) status: i32,
    #[prost(int32, optional, tag = "4")]
    pub(super) page_size: Option<i32>,
    #[prost(string, tag = "5")]
    pub(super) page_token: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ListTasksResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) tasks: Vec<Task>,
    #[prost(string, tag = "2")]
    pub(super) next_page_token: String,
    #[prost(int32, tag = "3")]
    pub(super) page_size: i32,
    #[prost(int32, tag = "4")]
    pub(super) total_size: i32,
}

/// `TaskPushNotificationConfig`
#[derive(Clone, PartialEq, Message)]
pub(super) struct PushConfig {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) id: String,
    #[prost(string, tag = "3")]
    pub(super) task_id: String,
    #[prost(string, tag = "4")]
    pub(super) url: String,
    #[prost(string, tag = "5")]
    pub(super) token: String,
}

/// `GetTaskPushNotificationConfigRequest` and `DeleteTaskPushNotificationConfigRequest`
#[derive(Clone, PartialEq, Message)]
pub(super) struct OfPush {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) task_id: String,
    #[prost(string, tag = "3")]
    pub(super) id: String,
}

/// `ListTaskPushNotificationConfigsRequest`
#[derive(Clone, PartialEq, Message)]
pub(super) struct ListPush {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "4")]
    pub(super) tenant: String,
}

/// `ListTaskPushNotificationConfigsResponse`
#[derive(Clone, PartialEq, Message)]
pub(super) struct PushConfigs {
    #[prost(message, repeated, tag = "1")]
    pub(super) configs: Vec<PushConfig>,
}

/// `google.protobuf.Empty`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

/// `GetExtendedAgentCardRequest`
#[derive(Clone, PartialEq, Message)]
pub(super) struct GetCard {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AgentCard {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) interfaces: Vec<Interface>,
    #[prost(message, repeated, tag = "13")]
    pub(super) signatures: Vec<Signature>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Interface {
    #[prost(string, tag = "1")]
    pub(super) url: String,
    #[prost(string, tag = "2")]
    pub(super) binding: String,
    #[prost(string, tag = "3")]
    pub(super) tenant: String,
    #[prost(string, tag = "4")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Signature {
    #[prost(string, tag = "1")]
    pub(super) protected: String,
    #[prost(string, tag = "2")]
    pub(super) signature: String,
}

/// `google.rpc.Status`
#[derive(Clone, PartialEq, Message)]
pub(super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<Any>,
}

/// `google.protobuf.Any`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes, tag = "2")]
    pub(super) value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`
#[derive(Clone, PartialEq, Message)]
pub(super) struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub(super) reason: String,
    #[prost(string, tag = "2")]
    pub(super) domain: String,
}
