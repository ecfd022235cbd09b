//! The operations of the protocol, for every binding (section 3.1).
//! Must not know: the bindings.

use a2a::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, SendMessageRequest,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use plenary_telemetry::{
    conventions::{A2A_METHOD, A2A_TASK, A2A_VERSION},
    note, note_conversation,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    access::{AgentAccess, Backend, VERSION},
    card::{Extent, card, takes},
    failure::Failure,
    limits::PARTS_MAX,
    stream::Follow,
};

/// The names of all methods.
const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "GetExtendedAgentCard",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
];

/// A parsed call.
pub(crate) enum Call {
    Send(SendMessageRequest),
    Stream(SendMessageRequest),
    Get(GetTaskRequest),
    List(ListTasksRequest),
    Cancel(CancelTaskRequest),
    Subscribe(SubscribeToTaskRequest),
    Card,
    CreatePush(TaskPushNotificationConfig),
    GetPush(GetTaskPushNotificationConfigRequest),
    ListPush(ListTaskPushNotificationConfigsRequest),
    DeletePush(DeleteTaskPushNotificationConfigRequest),
}

pub(crate) enum CallResult {
    Value(Value),
    Follow(Follow),
}

/// Parses the parameters of a call.
pub(crate) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params)
        .map_err(|error| Failure::params(format!("The parameters are wrong: {error}.")))
}

impl Call {
    /// Parses a call by the name of its method.
    pub(crate) fn read(method: &str, params: Value) -> Result<Self, Failure> {
        note_call(method, &params);
        match method {
            "SendMessage" => Ok(Self::Send(message(params)?)),
            "SendStreamingMessage" => Ok(Self::Stream(message(params)?)),
            "GetTask" => {
                let request: GetTaskRequest = read(params)?;
                check_history(request.history_length)?;
                Ok(Self::Get(request))
            }
            "ListTasks" => {
                let request: ListTasksRequest = read(params)?;
                check_history(request.history_length)?;
                Ok(Self::List(request))
            }
            "CancelTask" => Ok(Self::Cancel(read(params)?)),
            "SubscribeToTask" => Ok(Self::Subscribe(read(params)?)),
            "GetExtendedAgentCard" => Ok(Self::Card),
            "CreateTaskPushNotificationConfig" => Ok(Self::CreatePush(read(params)?)),
            "GetTaskPushNotificationConfig" => Ok(Self::GetPush(read(params)?)),
            "ListTaskPushNotificationConfigs" => Ok(Self::ListPush(read(params)?)),
            "DeleteTaskPushNotificationConfig" => Ok(Self::DeletePush(read(params)?)),
            _ => Err(Failure::method("There is no such method.")),
        }
    }
}

/// Adds the method to the span of the request. Unknown methods are omitted: span names must be few.
fn note_call(method: &str, params: &Value) {
    let Some(known) = METHODS.iter().find(|known| **known == method) else { return };
    note(A2A_METHOD, || *known);
    note(A2A_VERSION, || VERSION);
    let text =
        |pointer: &str| params.pointer(pointer).and_then(Value::as_str).filter(|text| text.len() <= 64);
    if let Some(task) = text("/id").or_else(|| text("/taskId")).or_else(|| text("/message/taskId")) {
        note(A2A_TASK, || task.to_owned());
    }
    if let Some(context) = text("/message/contextId").or_else(|| text("/contextId")) {
        note_conversation(context);
    }
}

/// Section 3.2.4: tasks have no history here, but the length must be valid.
fn check_history(length: Option<i32>) -> Result<(), Failure> {
    if length.is_some_and(|length| length < 0) {
        return Err(Failure::params("`historyLength` must not be negative."));
    }
    Ok(())
}

/// A message, checked for its required members.
pub(crate) fn message(params: Value) -> Result<SendMessageRequest, Failure> {
    let sent: SendMessageRequest = read(params)?;
    let Message { message_id, parts, role, .. } = &sent.message;
    if !(1..=200).contains(&message_id.len()) || !message_id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::params("`message.messageId` must be 1 to 200 visible ASCII characters."));
    }
    if !(1..=PARTS_MAX).contains(&parts.len()) {
        return Err(Failure::params(format!("`message.parts` must be 1 to {PARTS_MAX} parts.")));
    }
    if *role != a2a::Role::User {
        return Err(Failure::params("`message.role` must be ROLE_USER."));
    }
    check_history(sent.configuration.as_ref().and_then(|configuration| configuration.history_length))?;
    let mut types =
        parts.iter().filter_map(|part| part.media_type.as_deref()).filter(|kind| !kind.is_empty());
    if let Some(other) = types.find(|kind| !takes(kind)) {
        let text = format!(
            "The agent does not read {other:?}; `defaultInputModes` of its card lists what it reads."
        );
        return Err(Failure::content_type(text));
    }
    Ok(sent)
}

impl AgentAccess {
    /// Executes a call.
    pub(crate) async fn carry_out(&self, call: Call) -> Result<CallResult, Failure> {
        let value = match call {
            Call::Send(sent) => self.send(&sent).await?,
            Call::Stream(sent) => return self.stream(&sent).await.map(CallResult::Follow),
            Call::Subscribe(request) => {
                let after = self.resumed_after()?;
                let follow = match &self.backend {
                    Backend::Runs(agent) => agent.subscribe(&request.id, after).await?,
                    Backend::Sessions(agent) => agent.subscribe(&request.id, after).await?,
                };
                return Ok(CallResult::Follow(follow));
            }
            Call::Get(request) => json!(match &self.backend {
                Backend::Runs(agent) => agent.task(&request.id).await?,
                Backend::Sessions(agent) => agent.task(&request.id).await?,
            }),
            Call::Cancel(request) => json!(match &self.backend {
                Backend::Runs(agent) => agent.cancel(&request.id).await?,
                Backend::Sessions(agent) => agent.cancel(&request.id).await?,
            }),
            Call::List(request) => json!(match &self.backend {
                Backend::Runs(agent) => agent.list(&request).await?,
                Backend::Sessions(agent) => agent.list(&request).await?,
            }),
            Call::CreatePush(sent) => self.create_push(sent).await?,
            Call::GetPush(request) => self.get_push(&request).await?,
            Call::ListPush(request) => self.list_push(&request).await?,
            Call::DeletePush(request) => self.delete_push(&request).await?,
            Call::Card => {
                let base_url = self.rooms.base_url();
                self.a2a.signed(card(&self.seen, &base_url, Extent::Extended), &base_url).await?
            }
        };
        Ok(CallResult::Value(value))
    }

    async fn stream(&self, sent: &SendMessageRequest) -> Result<Follow, Failure> {
        let push = self.push_of(sent)?;
        let follow = match &self.backend {
            Backend::Runs(agent) => agent.stream(sent).await?,
            Backend::Sessions(agent) => agent.stream(sent).await?,
        };
        if let Some(push) = push {
            let push = TaskPushNotificationConfig { task_id: follow.task().id, ..push };
            self.create_push(push).await?;
        }
        Ok(follow)
    }

    async fn send(&self, sent: &SendMessageRequest) -> Result<Value, Failure> {
        let is_immediate =
            sent.configuration.as_ref().and_then(|configuration| configuration.return_immediately)
                == Some(true);
        if !is_immediate {
            let follow = self.stream(sent).await?;
            self.rooms.caller.waits();
            return Ok(json!({"task": follow.wait_until_paused().await?}));
        }
        let push = self.push_of(sent)?;
        let task: Task = match &self.backend {
            Backend::Runs(agent) => agent.send(sent).await?,
            Backend::Sessions(agent) => agent.send(sent).await?,
        };
        if let Some(push) = push {
            self.create_push(TaskPushNotificationConfig { task_id: task.id.clone(), ..push }).await?;
        }
        Ok(json!({"task": task}))
    }
}
