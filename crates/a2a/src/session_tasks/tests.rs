//! Tasks in sessions, against a simulated room of sessions.

use std::{collections::HashMap, sync::Mutex};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use plenary_edge::operations::{Caller, Operations};
use serde_json::json;

use super::*;

const ME: &str = "@me.a";
const AGENT: &str = "@other.b";

/// The events of the room of sessions, and the cursors from which they were read.
#[derive(Default)]
struct Sessions {
    events: Mutex<Vec<(String, Value)>>,
    read_after: Mutex<Vec<u64>>,
    /// The sequence of the message that was posted under a key.
    keys: Mutex<HashMap<String, u64>>,
}

impl Sessions {
    /// The next event of a session.
    fn add(&self, session: &str, kind: &str, payload: &Value) -> u64 {
        let mut events = self.events.lock().unwrap();
        let last = events.iter().rev().find(|(id, _)| id == session);
        let sequence = 1 + last.and_then(|(_, event): &(_, Value)| event["sequence"].as_u64()).unwrap_or(0);
        let event = json!({"type": kind, "sequence": sequence, "created_at": 1, "payload": payload});
        events.push((session.to_owned(), event));
        sequence
    }

    fn message(&self, session: &str, sender: &str, text: &str) -> u64 {
        let metadata = json!({"a2a": {"message_id": text}});
        let metadata = if sender == ME { metadata } else { Value::Null };
        self.add(
            session,
            "session.message",
            &json!({"sender": sender, "content": text, "metadata": metadata}),
        )
    }

    /// Opens a session of the two; returns the sequence of the message that opened it.
    fn open(&self, session: &str, text: &str) -> u64 {
        let first = self.message(session, ME, text);
        self.add(session, "session.invited", &json!({"invitee": AGENT}));
        self.add(session, "session.joined", &json!({"agent": AGENT}));
        first
    }
}

#[derive(serde::Deserialize)]
struct Page {
    after_sequence: u64,
    limit: usize,
}

type Room = State<Arc<Sessions>>;

fn shown(id: &str) -> Value {
    json!({"id": id, "participants": [{"handle": ME}, {"handle": AGENT}]})
}

async fn events(State(room): Room, Path(id): Path<String>, Query(page): Query<Page>) -> Json<Value> {
    room.read_after.lock().unwrap().push(page.after_sequence);
    let events = room.events.lock().unwrap();
    let later = events
        .iter()
        .filter(|(session, event)| *session == id && event["sequence"].as_u64() > Some(page.after_sequence));
    let mut listed: Vec<_> = later.map(|(_, event)| event.clone()).take(page.limit + 1).collect();
    let is_more = listed.len() > page.limit;
    listed.truncate(page.limit);
    let last = listed.last().map(|event| event["sequence"].clone());
    Json(json!({"events": listed, "next_cursor": last.filter(|_| is_more)}))
}

async fn list(State(room): Room) -> Json<Value> {
    let mut ids: Vec<_> = room.events.lock().unwrap().iter().map(|(id, _)| id.clone()).collect();
    ids.dedup();
    Json(json!({"sessions": ids.iter().rev().map(|id| shown(id)).collect::<Vec<_>>()}))
}

async fn post_message(
    State(room): Room,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, HeaderMap, Json<Value>) {
    // Like the room, this one repeats its response for a known key, without another effect.
    let key = headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned());
    let earlier = key.as_ref().and_then(|key| room.keys.lock().unwrap().get(key).copied());
    let marks = HeaderMap::from_iter(
        earlier.map(|_| (http::HeaderName::from_static("idempotency-replayed"), "true".parse().unwrap())),
    );
    let sequence = earlier.unwrap_or_else(|| {
        let payload = json!({"sender": ME, "content": body["content"], "metadata": body["metadata"]});
        room.add(&id, "session.message", &payload)
    });
    room.keys.lock().unwrap().extend(key.map(|key| (key, sequence)));
    (StatusCode::ACCEPTED, marks, Json(json!({"sequence": sequence})))
}

fn agent(room: &Arc<Sessions>) -> SessionAgent {
    let router = Router::new()
        .route("/sessions", get(list))
        .route("/sessions/{id}", get(async |Path(id): Path<String>| Json(shown(&id))))
        .route("/sessions/{id}/events", get(events))
        .route("/sessions/{id}/messages", post(post_message))
        .with_state(room.clone());
    let operations = Operations::new(router, Vec::new());
    SessionAgent {
        wakeups: Arc::default(),
        stop: CancellationToken::new(),
        rooms: RoomClient { operations, caller: Caller::default() },
        keys: MessageKeys::default(),
        me: Some(ME.parse().unwrap()),
        handle: AGENT.parse().unwrap(),
    }
}

fn status(update: Option<Update>) -> Option<TaskState> {
    match update? {
        Update::Event(update, _) => match *update {
            StreamResponse::StatusUpdate(update) => Some(update.status.state),
            StreamResponse::Task(task) => Some(task.status.state),
            StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => None,
        },
        Update::Alive => None,
    }
}

#[tokio::test]
async fn a_follower_reads_only_what_it_has_not_read() {
    let room = Arc::<Sessions>::default();
    room.open("s", "first");
    for n in 0..2_500 {
        room.message("s", "@third.c", &n.to_string());
    }
    let second = room.message("s", ME, "second");
    let agent = agent(&room);
    let mut feed = agent.follow(TaskPosition { session: "s".into(), sequence: second }, None).await.unwrap();
    assert_eq!(status(feed.next().await.unwrap()), Some(TaskState::Working));
    assert_eq!(*room.read_after.lock().unwrap(), [0, 1_000, 2_000], "page by page");
    room.read_after.lock().unwrap().clear();
    for n in 0..5 {
        room.message("s", "@third.c", &n.to_string());
        agent.wakeups.wake("s");
    }
    room.message("s", AGENT, "answer");
    assert!(status(feed.next().await.unwrap()).is_none(), "the artifact");
    assert_eq!(status(feed.next().await.unwrap()), Some(TaskState::Completed));
    assert!(feed.next().await.unwrap().is_none());
    let read = room.read_after.lock().unwrap().clone();
    assert!(read.iter().all(|after| *after >= second), "nothing is read again: {read:?}");
}

#[tokio::test]
async fn a_page_of_tasks_ends_at_a_number_of_bytes_and_the_next_one_goes_on() {
    let room = Arc::<Sessions>::default();
    for n in 0..12 {
        let session = format!("s{n:02}");
        room.open(&session, "q");
        room.message(&session, AGENT, &"x".repeat(512 << 10));
    }
    let agent = agent(&room);
    let (mut seen, mut token) = (Vec::new(), None);
    loop {
        let request = json!({"includeArtifacts": true, "pageToken": token, "status": "TASK_STATE_COMPLETED"});
        let page = agent.list(&serde_json::from_value(request).unwrap()).await.unwrap();
        assert_eq!(page.total_size, 12);
        let bytes: usize = page.tasks.iter().map(|task| json!(task.artifacts).to_string().len()).sum();
        assert!(bytes <= TASK_BYTES_MAX + (1 << 20), "{bytes}");
        seen.extend(page.tasks.iter().map(|task| task.id.clone()));
        token = Some(page.next_page_token).filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    let newest_first: Vec<_> = (0..12).rev().map(|n| format!("s{n:02}.1")).collect();
    assert_eq!(seen, newest_first);
}

#[tokio::test]
async fn a_list_has_the_newest_tasks_and_reads_no_session_past_its_limits() {
    let room = Arc::<Sessions>::default();
    room.open("old", "q");
    room.open("new", "q");
    for n in 0..LISTED_EVENTS_MAX {
        room.message("new", if n % 10 == 0 { ME } else { "@third.c" }, "q");
    }
    let page = agent(&room).list(&serde_json::from_value(json!({})).unwrap()).await.unwrap();
    assert_eq!(page.total_size, i32::try_from(LISTED_MAX).unwrap());
    assert_eq!(page.tasks[0].id, format!("new.{}", LISTED_EVENTS_MAX - 10 + 4));
    assert!(page.tasks.iter().all(|task| task.status.state == TaskState::Working));
}

fn sent(id: &str, task: &str) -> SendMessageRequest {
    let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": id}], "taskId": task});
    serde_json::from_value(json!({"message": message})).unwrap()
}

#[tokio::test]
async fn a_message_to_a_task_that_comes_again_is_the_same_one_and_a_new_one_is_refused_once_it_is_over() {
    let room = Arc::<Sessions>::default();
    let first = room.open("s", "q");
    let (agent, task) = (agent(&room), format!("s.{first}"));
    let once = agent.send(&sent("m-2", &task)).await.unwrap();
    assert_eq!(once.status.state, TaskState::Working);
    room.message("s", AGENT, "done");
    let again = agent.send(&sent("m-2", &task)).await.unwrap();
    assert_eq!((again.id, again.status.state), (once.id, TaskState::Completed));
    let refused = agent.send(&sent("m-3", &task)).await.unwrap_err();
    assert_eq!(refused.code, a2a::error_code::UNSUPPORTED_OPERATION);
}

#[tokio::test]
async fn a_message_to_an_agent_that_has_left_is_rejected_until_it_is_invited_again() {
    let room = Arc::<Sessions>::default();
    room.open("s", "q");
    room.add("s", "session.left", &json!({"agent": AGENT}));
    let agent = agent(&room);
    let state = async |id: &str| {
        let message =
            json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": id}], "contextId": "s"});
        let sent = serde_json::from_value(json!({"message": message})).unwrap();
        agent.send(&sent).await.unwrap().status.state
    };
    assert_eq!(state("m-1").await, TaskState::Rejected);
    room.add("s", "session.invited", &json!({"invitee": AGENT}));
    assert_eq!(state("m-2").await, TaskState::Submitted);
    assert_eq!(state("m-1").await, TaskState::Submitted, "its first task is over, so it begins another one");
    room.add("s", "session.joined", &json!({"agent": AGENT}));
    assert_eq!(state("m-3").await, TaskState::Working);
}

#[tokio::test]
async fn a_task_whose_caller_is_out_of_the_session_is_canceled() {
    let room = Arc::<Sessions>::default();
    room.add("s", "session.left", &json!({"agent": ME}));
    let first = room.open("s", "q");
    let (agent, id) = (agent(&room), format!("s.{first}"));
    let follow = agent.subscribe(&id, None).await.unwrap();
    assert_eq!(agent.task(&id).await.unwrap().status.state, TaskState::Working, "it came back before");
    room.add("s", "session.left", &json!({"agent": "@third.c"}));
    assert_eq!(agent.task(&id).await.unwrap().status.state, TaskState::Working);
    room.add("s", "session.left", &json!({"agent": ME}));
    let ended = follow.wait_until_paused().await.unwrap();
    assert_eq!(ended.status.state, TaskState::Canceled);
    assert_eq!(agent.task(&id).await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test]
async fn the_same_message_is_the_same_task_while_that_goes_on_and_another_content_is_another_task() {
    let room = Arc::<Sessions>::default();
    room.open("s", "q");
    let mut agent = agent(&room);
    let send = async |agent: &SessionAgent, text: &str| {
        let message =
            json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}], "contextId": "s"});
        agent.send(&serde_json::from_value(json!({"message": message})).unwrap()).await.unwrap().id
    };
    let first = send(&agent, "a").await;
    assert_eq!(send(&agent, "a").await, first);
    assert_ne!(send(&agent, "b").await, first);
    let mut seen = vec![first];
    for _ in 0..REPEATS_MAX + 1 {
        room.message("s", AGENT, "done");
        let next = send(&agent, "a").await;
        assert!(!seen.contains(&next), "a task that is over is not begun again: {next}");
        seen.push(next);
        if seen.len() <= REPEATS_MAX {
            assert_eq!(send(&agent, "a").await, seen[seen.len() - 1]);
        }
    }
    agent.keys = MessageKeys::from_headers(&HeaderMap::from_iter([(
        http::HeaderName::from_static("idempotency-key"),
        "k".parse().unwrap(),
    )]))
    .unwrap();
    let first = send(&agent, "a").await;
    room.message("s", AGENT, "done");
    assert_eq!(send(&agent, "a").await, first, "a key of the client counts for good");
}

#[tokio::test]
async fn a_server_that_stops_is_no_end_of_a_task() {
    let room = Arc::<Sessions>::default();
    let first = room.open("s", "q");
    let agent = agent(&room);
    let follow = agent.subscribe(&format!("s.{first}"), None).await.unwrap();
    agent.stop.cancel();
    assert_eq!(follow.wait_until_paused().await.unwrap_err(), Failure::stopping());
}
