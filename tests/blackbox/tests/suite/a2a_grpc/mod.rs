//! The gRPC binding of Agent2Agent 1.0 (section 10) as the real server speaks it: bytes over HTTP/2, written from the
//! specification. The Python SDK walks the same in `tests/a2a`. Must not know: how a task is kept.

mod client;
mod messages;

use std::collections::HashMap;

use blackbox::{Agent, Behaviour, Collector, Server, eventually};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use self::{
    client::{Client, Refused, framed},
    messages::{
        AgentCard, Configuration, Content, Datum, Empty, GetCard, Kind, List, ListPush, ListTasksRequest,
        ListTasksResponse, OfPush, OfTask, Part, PushConfig, PushConfigs, Said, SendMessageRequest,
        SendMessageResponse, StreamResponse, Struct, Task,
    },
};
use crate::{
    a2a::{ECHO, get, message, rest, rpc},
    notify::{config, json_of, taken},
};

const ECHO_TENANT: &str = "plenary.echo";
const USER: i32 = 1;
const COMPLETED: i32 = 3;
const CANCELED: i32 = 5;
const INPUT_REQUIRED: i32 = 6;
/// Codes of gRPC.
const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const UNIMPLEMENTED: i32 = 12;
const UNAUTHENTICATED: i32 = 16;

fn datum(kind: Kind) -> Datum {
    Datum { kind: Some(kind) }
}

/// A text for an agent; `demo` is what the echo does beside.
fn said(tenant: &str, id: &str, text: &str, demo: &[&str]) -> SendMessageRequest {
    let words = demo.iter().map(|word| datum(Kind::Text((*word).to_owned()))).collect();
    let fields = HashMap::from([("demo".to_owned(), datum(Kind::List(List { values: words })))]);
    let message = Said {
        message_id: id.to_owned(),
        role: USER,
        parts: vec![Part { content: Some(Content::Text(text.to_owned())), ..Part::default() }],
        metadata: (!demo.is_empty()).then_some(Struct { fields }),
        ..Said::default()
    };
    SendMessageRequest { tenant: tenant.to_owned(), message: Some(message), configuration: None }
}

fn echoed(id: &str, text: &str) -> SendMessageRequest {
    said(ECHO_TENANT, id, text, &[])
}

fn of_task(id: &str) -> OfTask {
    OfTask { tenant: ECHO_TENANT.to_owned(), id: id.to_owned() }
}

fn state(task: &Task) -> i32 {
    task.status.as_ref().expect("a status").state
}

fn text(task: &Task) -> Option<&Content> {
    task.artifacts.first()?.parts.first()?.content.as_ref()
}

async fn send(client: &mut Client, request: &SendMessageRequest) -> Task {
    let answer: Result<SendMessageResponse, _> = client.ask("SendMessage", request).await;
    answer.expect("it is sent").task.expect("a task")
}

fn refused(answer: Result<impl std::fmt::Debug, Refused>, code: i32, reason: &str) -> Refused {
    let refused = answer.expect_err("it is refused");
    assert_eq!((refused.code, refused.reason.as_str()), (code, reason), "{refused:?}");
    refused
}

/// A task that goes on until it is canceled.
async fn slow(client: &mut Client) -> Task {
    let mut request = said(ECHO_TENANT, "m-slow", "slow", &["slow"]);
    request.configuration = Some(Configuration { return_immediately: true, push: None });
    send(client, &request).await
}

#[tokio::test]
async fn grpc_01_send_message_is_a_task_and_the_same_message_the_same_task_while_that_goes_on() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let task = send(&mut client, &echoed("m-1", "Hello, wörld")).await;
    assert_eq!((state(&task), text(&task)), (COMPLETED, Some(&Content::Text("Hello, wörld".into()))));
    assert!(
        task.status.as_ref().and_then(|status| status.timestamp.as_ref()).is_some_and(|at| at.seconds > 0)
    );
    assert_ne!(send(&mut client, &echoed("m-1", "Hello, wörld")).await.id, task.id, "it is over");
    // The other bindings have the same task.
    let shown = rest(&get(&nick, &format!("{ECHO}/tasks/{}", task.id)).await);
    assert_eq!(
        (&shown["contextId"], &shown["status"]["state"]),
        (&json!(task.context_id), &json!("TASK_STATE_COMPLETED"))
    );
    let waits = waiting(&mut client).await;
    assert_eq!(waiting(&mut client).await.id, waits.id, "it goes on");
    let demo = json!({"metadata": {"demo": ["wait_for_input"]}});
    let again = rpc(&nick, ECHO, "SendMessage", message("m-wait", "x", demo)).await;
    assert_eq!(again["result"]["task"]["id"], waits.id, "over another binding too");
    let another = send(&mut client, &said(ECHO_TENANT, "m-wait", "y", &["wait_for_input"])).await;
    assert_ne!(another.id, waits.id, "another content");
}

#[tokio::test]
async fn grpc_02_send_streaming_message_begins_with_the_task_and_ends_with_its_end() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let request = said(ECHO_TENANT, "m-1", "a b", &["deltas", "artifact"]);
    let mut stream = client.open("SendStreamingMessage", &request).await;
    let updates: Vec<StreamResponse> = stream.rest().await;
    stream.end().await.expect("a good end");
    let task = updates[0].task.as_ref().expect("the task first");
    let last = updates.last().and_then(|update| update.status_update.as_ref()).expect("its end last");
    assert_eq!((&last.task_id, last.status.as_ref().map(|status| status.state)), (&task.id, Some(COMPLETED)));
    let pieces = || updates.iter().filter_map(|update| update.artifact_update.as_ref());
    let whole = pieces().find(|piece| {
        piece.last_chunk && piece.artifact.as_ref().is_some_and(|made| made.artifact_id == "text-1")
    });
    let whole = whole.and_then(|piece| piece.artifact.as_ref()).expect("the text");
    assert_eq!(whole.parts[0].content, Some(Content::Text("a b".into())));
    assert!(pieces().any(|piece| piece.artifact.as_ref().is_some_and(|made| made.name == "echo.txt")));
}

#[tokio::test]
async fn grpc_03_get_task_shows_the_callers_own_and_no_other() {
    let (_server, [nick, ann]) = Server::with(["@nick.cc", "@ann.cc"]).await;
    let (mut nicks, mut anns) = (Client::of(&nick).await, Client::of(&ann).await);
    let sent = send(&mut nicks, &echoed("m-1", "Hello")).await;
    let read: Task = nicks.ask("GetTask", &of_task(&sent.id)).await.expect("it is there");
    assert_eq!(
        (&read.id, state(&read), text(&read)),
        (&sent.id, COMPLETED, Some(&Content::Text("Hello".into())))
    );
    let foreign: Result<Task, _> = anns.ask("GetTask", &of_task(&sent.id)).await;
    let absent: Result<Task, _> = anns.ask("GetTask", &of_task("run_00000000000000000000000000")).await;
    assert_eq!(refused(foreign, NOT_FOUND, "TASK_NOT_FOUND"), refused(absent, NOT_FOUND, "TASK_NOT_FOUND"));
}

#[tokio::test]
async fn grpc_04_list_tasks_has_pages_and_filters() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let mut sent = Vec::new();
    for n in 0..3 {
        sent.push(send(&mut client, &echoed(&format!("m-{n}"), "x")).await.id);
    }
    sent.reverse();
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let request = ListTasksRequest {
            tenant: ECHO_TENANT.into(),
            page_size: Some(2),
            page_token: token,
            ..ListTasksRequest::default()
        };
        let page: ListTasksResponse = client.ask("ListTasks", &request).await.expect("a page");
        assert_eq!((page.page_size, page.total_size), (2, 3));
        seen.extend(page.tasks.into_iter().map(|task| task.id));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, sent, "the newest first");
    let canceled =
        ListTasksRequest { tenant: ECHO_TENANT.into(), status: CANCELED, ..ListTasksRequest::default() };
    let none: ListTasksResponse = client.ask("ListTasks", &canceled).await.expect("a page");
    assert!(none.tasks.is_empty(), "{none:?}");
    let wrong =
        ListTasksRequest { tenant: ECHO_TENANT.into(), page_size: Some(101), ..ListTasksRequest::default() };
    let wrong: Result<ListTasksResponse, _> = client.ask("ListTasks", &wrong).await;
    refused(wrong, INVALID_ARGUMENT, "INVALID_PARAMS");
}

#[tokio::test]
async fn grpc_05_cancel_task_ends_it_once() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let begun = slow(&mut client).await;
    let canceled: Task = client.ask("CancelTask", &of_task(&begun.id)).await.expect("it is canceled");
    assert_eq!(state(&canceled), CANCELED);
    let again: Result<Task, _> = client.ask("CancelTask", &of_task(&begun.id)).await;
    refused(again, FAILED_PRECONDITION, "TASK_NOT_CANCELABLE");
}

#[tokio::test]
async fn grpc_06_subscribe_to_task_follows_it_to_its_end_beside_other_calls_of_the_connection() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let begun = slow(&mut client).await;
    let mut following = client.open("SubscribeToTask", &of_task(&begun.id)).await;
    let first: StreamResponse = following.next().await.expect("the task first");
    assert_eq!(first.task.expect("a task").id, begun.id);
    let canceled: Task = client.ask("CancelTask", &of_task(&begun.id)).await.expect("it is canceled");
    assert_eq!(state(&canceled), CANCELED);
    let updates: Vec<StreamResponse> = following.rest().await;
    let last = updates.last().and_then(|update| update.status_update.as_ref()).expect("its end");
    assert_eq!(last.status.as_ref().map(|status| status.state), Some(CANCELED));
    following.end().await.expect("a good end");
    let over: Result<StreamResponse, _> = client.ask("SubscribeToTask", &of_task(&begun.id)).await;
    refused(over, FAILED_PRECONDITION, "UNSUPPORTED_OPERATION");
}

/// A task that waits for its client, and where to hear of it.
async fn waiting(client: &mut Client) -> Task {
    let task = send(client, &said(ECHO_TENANT, "m-wait", "x", &["wait_for_input"])).await;
    assert_eq!(state(&task), INPUT_REQUIRED, "{task:?}");
    task
}

#[tokio::test]
async fn grpc_07_to_10_push_configurations_are_made_shown_listed_and_removed() {
    let server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let mut client = Client::of(&nick).await;
    let task = waiting(&mut client).await;
    let wanted = PushConfig {
        tenant: ECHO_TENANT.into(),
        id: "mine".into(),
        task_id: task.id.clone(),
        url: format!("{}/hook", receiver.url()),
        token: "a-token".into(),
    };
    let made: PushConfig = client.ask("CreateTaskPushNotificationConfig", &wanted).await.expect("it is made");
    assert_eq!(made, PushConfig { tenant: String::new(), ..wanted });
    let one = OfPush { tenant: ECHO_TENANT.into(), task_id: task.id.clone(), id: "mine".into() };
    let shown: PushConfig = client.ask("GetTaskPushNotificationConfig", &one).await.expect("it is there");
    assert_eq!(shown, made);
    let all = ListPush { tenant: ECHO_TENANT.into(), task_id: task.id.clone() };
    let listed: PushConfigs = client.ask("ListTaskPushNotificationConfigs", &all).await.expect("a list");
    assert_eq!(listed.configs, [made]);
    let told = taken(&receiver, 1).await.remove(0);
    assert_eq!(json_of(&told)["task"]["id"], task.id);
    let _: Empty = client.ask("DeleteTaskPushNotificationConfig", &one).await.expect("it is removed");
    let gone: Result<PushConfig, _> = client.ask("GetTaskPushNotificationConfig", &one).await;
    refused(gone, NOT_FOUND, "TASK_NOT_FOUND");
    let listed: PushConfigs = client.ask("ListTaskPushNotificationConfigs", &all).await.expect("a list");
    assert!(listed.configs.is_empty(), "{listed:?}");
}

#[tokio::test]
async fn grpc_11_the_extended_card_is_signed_and_names_the_tenant() {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let asked = GetCard { tenant: ECHO_TENANT.into() };
    let card: AgentCard = client.ask("GetExtendedAgentCard", &asked).await.expect("a card");
    let json = rest(&get(&nick, &format!("{ECHO}/extendedAgentCard")).await);
    assert_eq!(json!(card.name), json["name"]);
    let grpc = card.interfaces.iter().find(|interface| interface.binding == "GRPC").expect("the binding");
    assert_eq!((&grpc.url, grpc.tenant.as_str(), grpc.version.as_str()), (&server.url(), ECHO_TENANT, "1.0"));
    let signature = card.signatures.first().expect("a signature");
    assert!(!signature.protected.is_empty() && !signature.signature.is_empty());
}

#[tokio::test]
async fn a_task_that_requires_input_is_answered_by_a_message_with_its_id() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let task = waiting(&mut client).await;
    assert!(
        task.status.as_ref().and_then(|status| status.message.as_ref()).is_some(),
        "it says what it wants"
    );
    let mut answer = echoed("m-2", "Nick");
    answer.message.as_mut().expect("a message").task_id = task.id.clone();
    let done = send(&mut client, &answer).await;
    assert_eq!((&done.id, state(&done)), (&task.id, COMPLETED));
    let mut more = echoed("m-3", "more");
    more.message.as_mut().expect("a message").task_id = task.id;
    let more: Result<SendMessageResponse, _> = client.ask("SendMessage", &more).await;
    refused(more, FAILED_PRECONDITION, "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn grpc_12_a_media_type_that_the_card_does_not_name_is_refused() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let mut request = echoed("m-1", "x");
    let message = request.message.as_mut().expect("a message");
    message.parts.push(Part {
        content: Some(Content::Raw(b"tck".to_vec())),
        media_type: "application/x-unknown".into(),
    });
    let answer: Result<SendMessageResponse, _> = client.ask("SendMessage", &request).await;
    refused(answer, INVALID_ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED");
}

/// What may not be asked looks as what is not there, and whoever has no token learns nothing.
#[tokio::test]
async fn strangers_cannot_tell_a_foreign_agent_from_none() {
    let server = Server::start().await;
    server.closed_agent("@nick.no1", &[]).await;
    let ann = server.agent("@ann.cc").await;
    let mut client = Client::of(&ann).await;
    let ask = |tenant: &str| GetCard { tenant: tenant.to_owned() };
    let hidden: Result<AgentCard, _> = client.ask("GetExtendedAgentCard", &ask("nick.no1")).await;
    let absent: Result<AgentCard, _> = client.ask("GetExtendedAgentCard", &ask("nick.no2")).await;
    assert_eq!(refused(hidden, NOT_FOUND, "AGENT_NOT_FOUND"), refused(absent, NOT_FOUND, "AGENT_NOT_FOUND"));
    for token in [None, Some("pla_nobody")] {
        let mut nobody = Client::connect(&ann, token).await;
        for method in ["GetExtendedAgentCard", "Nothing"] {
            let asked: Result<AgentCard, _> = nobody.ask(method, &ask(ECHO_TENANT)).await;
            refused(asked, UNAUTHENTICATED, "UNAUTHENTICATED");
        }
    }
}

#[tokio::test]
async fn a_scope_holds_over_grpc_too() {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    let made = nick.post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201);
    let mut reads = Client::connect(&nick, made["token"].as_str()).await;
    let sent: Result<SendMessageResponse, _> = reads.ask("SendMessage", &echoed("m-1", "x")).await;
    let refusal = sent.expect_err("it is refused");
    let over_json = server.bearer(made["token"].as_str().expect("a token"));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("m-1", "x", Value::Null)});
    let said = over_json.call("POST", ECHO, &[crate::a2a::VERSION], Some(&call)).await.json();
    assert_eq!(json!(refusal.reason), said["error"]["data"][0]["reason"], "{refusal:?} {said}");
    assert_eq!(json!(refusal.message), said["error"]["message"]);
}

#[tokio::test]
async fn the_tenant_may_be_left_out_where_the_operator_has_named_an_agent() {
    let server = Server::builder().config("[a2a]\nagent = \"@plenary.echo\"\n").start().await;
    let nick = server.agent("@nick.cc").await;
    let mut client = Client::of(&nick).await;
    let task = send(&mut client, &said("", "m-1", "Hello", &[])).await;
    assert_eq!(state(&task), COMPLETED);
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let nobody: Result<SendMessageResponse, _> =
        client.ask("SendMessage", &said("", "m-1", "Hello", &[])).await;
    refused(nobody, INVALID_ARGUMENT, "INVALID_PARAMS");
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_a_status() {
    const SEND: &str = "/lf.a2a.v1.A2AService/SendMessage";
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let unknown: Result<Empty, _> = client.ask("Nothing", &Empty {}).await;
    refused(unknown, UNIMPLEMENTED, "METHOD_NOT_FOUND");
    let mut odd = echoed("m-1", "x");
    odd.message.as_mut().expect("a message").role = 7;
    let odd: Result<SendMessageResponse, _> = client.ask("SendMessage", &odd).await;
    refused(odd, INVALID_ARGUMENT, "INVALID_PARAMS");
    let mut empty = echoed("m-1", "x");
    empty.message = None;
    let empty: Result<SendMessageResponse, _> = client.ask("SendMessage", &empty).await;
    refused(empty, INVALID_ARGUMENT, "INVALID_PARAMS");
    let headers = [("content-type", "application/grpc"), ("a2a-version", "1.0")];
    // Bytes that are no message.
    let (_, broken) = client.send(SEND, &headers, Bytes::from_static(&[0, 0, 0, 0, 1, 0xff])).await;
    assert_eq!(broken.end().await.map_err(|refused| refused.code), Err(INVALID_ARGUMENT));
    // A message larger than a body may be.
    let (_, large) = client.send(SEND, &headers, framed(&echoed("m-1", &"x".repeat(2 << 20)))).await;
    let code = large.end().await.expect_err("it is too large").code;
    assert!([RESOURCE_EXHAUSTED, 11].contains(&code), "{code}");
    // Section 3.6: whoever says nothing speaks 0.3.
    let (_, old) = client.send(SEND, &headers[..1], framed(&echoed("m-1", "x"))).await;
    refused(old.end().await, FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED");
    // What is not gRPC, over either HTTP.
    let (status, other) =
        client.send(SEND, &[("content-type", "application/json")], Bytes::from_static(b"{}")).await;
    assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(other.text().await.contains("CONTENT_TYPE_NOT_SUPPORTED"));
    let old = nick.call("POST", SEND, &[("content-type", "application/grpc")], Some(&json!({}))).await;
    assert_eq!(old.status, 415, "{old}");
    // The connection has outlived all of it.
    assert_eq!(state(&send(&mut client, &echoed("m-2", "x")).await), COMPLETED);
}

/// Pages of other sites, and names that were made to point here, are refused over HTTP/2 as over HTTP/1.1.
#[tokio::test]
async fn pages_of_others_and_foreign_names_are_refused() {
    const SEND: &str = "/lf.a2a.v1.A2AService/SendMessage";
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut client = Client::of(&nick).await;
    let headers =
        [("content-type", "application/grpc"), ("a2a-version", "1.0"), ("origin", "http://evil.example")];
    let (status, page) = client.send(SEND, &headers, framed(&echoed("m-1", "x"))).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(page.text().await.contains("foreign_origin"));
    client.authority = "evil.example";
    let (status, name) = client.send(SEND, &headers[..2], framed(&echoed("m-1", "x"))).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(name.text().await.contains("foreign_host"));
}

/// A quota holds as over the other bindings: ten push configurations of a task.
#[tokio::test]
async fn past_a_limit_resources_are_exhausted() {
    let server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    receiver.behave(Behaviour::Answer(503));
    let mut client = Client::of(&nick).await;
    let task = waiting(&mut client).await;
    for n in 0..11 {
        let wanted = PushConfig {
            tenant: ECHO_TENANT.into(),
            id: format!("c-{n}"),
            task_id: task.id.clone(),
            url: format!("{}/{n}", receiver.url()),
            token: String::new(),
        };
        let made: Result<PushConfig, _> = client.ask("CreateTaskPushNotificationConfig", &wanted).await;
        if n < 10 {
            made.expect("a place is left");
        } else {
            assert_eq!(made.expect_err("ten of one task").code, RESOURCE_EXHAUSTED);
        }
    }
}

/// A hundred streams on one connection: what is beyond waits, and a call gets its turn once one of them ends.
#[tokio::test]
async fn past_a_hundred_requests_of_a_connection_the_next_one_waits() {
    let server = Server::start().await;
    let nick: Agent = server.agent("@nick.cc").await;
    let mut client = Client::of(&nick).await;
    let begun = slow(&mut client).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut following = client.open("SubscribeToTask", &of_task(&begun.id)).await;
        let first: Option<StreamResponse> = following.next().await;
        assert!(first.is_some());
        open.push(following);
    }
    let mut other = Client::of(&nick).await;
    let read: Task = other.ask("GetTask", &of_task(&begun.id)).await.expect("another connection has room");
    assert_eq!(read.id, begun.id);
    let waits = tokio::spawn(async move {
        let read: Result<Task, _> = client.ask("GetTask", &of_task(&begun.id)).await;
        read.expect("its turn comes").id
    });
    let held: Task = other.ask("GetTask", &of_task(&read.id)).await.expect("it goes on");
    assert!(!waits.is_finished(), "{held:?}");
    open.truncate(99);
    eventually("its turn", || async { waits.is_finished().then_some(()) }).await;
    assert_eq!(waits.await.expect("a task"), read.id);
}
