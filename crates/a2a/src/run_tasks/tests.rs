//! Tasks that are runs, against a simulated room of runs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    routing::{get, post},
};
use plenary_edge::operations::{Caller, Operations};
use serde_json::json;

use super::*;

/// Artifacts of each run, and the size of one: together they exceed a response.
const ARTIFACTS: usize = 90;
const ARTIFACT_BYTES: usize = 60 << 10;

/// How often the content of an artifact was read.
type Room = State<Arc<AtomicUsize>>;

#[derive(serde::Deserialize)]
struct Since {
    since: u64,
}

async fn report(Path(run): Path<String>) -> Json<Value> {
    let updated_at = "2026-01-01T00:00:00Z";
    Json(
        json!({"run_id": run, "thread_id": "t", "status": "completed", "updated_at": updated_at, "last_event_id": ARTIFACTS}),
    )
}

async fn events(Query(Since { since }): Query<Since>) -> Json<Value> {
    let artifact_event = |id| {
        json!({"id": id, "type": "ArtifactGenerated", "artifact_id": format!("a-{id}"), "name": "a", "mime_type": "text/plain",
               "url": format!("/artifacts/a-{id}"), "artifact": {"octets": ARTIFACT_BYTES}})
    };
    let last = ARTIFACTS as u64;
    Json((since + 1..=last).map(artifact_event).collect())
}

async fn artifact(State(read): Room) -> String {
    read.fetch_add(1, Ordering::Relaxed);
    "x".repeat(ARTIFACT_BYTES)
}

/// A run that has started, and whose stream is interrupted.
async fn broken_stream() -> ([(&'static str, &'static str); 2], &'static str) {
    (
        [("x-run-id", "run-0"), ("x-thread-id", "t")],
        "event: RunStarted\ndata: {\"id\":1,\"type\":\"RunStarted\"}\n\n",
    )
}

fn agent(read: &Arc<AtomicUsize>) -> HostedAgent {
    let runs: Vec<_> = (0..3).map(|n| format!("run-{n}")).collect();
    let threads = json!([{"id": "t", "updated_at": "2026-01-01T00:00:00Z", "runs": runs}]);
    let router = Router::new()
        .route("/agent/o.a/runs/{run}", get(report))
        .route("/agent/o.a/get_events", get(events))
        .route("/agent/o.a/threads", get(async move || Json(threads)))
        .route("/agent/o.a/stream_request", post(broken_stream))
        .route("/artifacts/{id}", get(artifact))
        .with_state(read.clone());
    let rooms = RoomClient { operations: Operations::new(router, Vec::new()), caller: Caller::default() };
    HostedAgent { rooms, keys: MessageKeys::default(), name: "o.a".into() }
}

fn text_bytes(task: &Task) -> usize {
    let parts = task.artifacts.iter().flatten().flat_map(|artifact| &artifact.parts);
    parts
        .filter_map(|part| if let PartContent::Text(text) = &part.content { Some(text.len()) } else { None })
        .sum()
}

#[tokio::test]
async fn artifacts_stand_in_a_task_as_far_as_an_answer_holds_them() {
    let read = Arc::default();
    let task = agent(&read).task("run-0").await.unwrap();
    let bytes = text_bytes(&task);
    assert!(bytes <= TASK_BYTES_MAX && bytes > TASK_BYTES_MAX - 2 * ARTIFACT_BYTES, "{bytes}");
    let artifacts = task.artifacts.unwrap();
    assert_eq!(artifacts.len(), ARTIFACTS, "what has no room is there by its URL");
    assert!(matches!(artifacts[ARTIFACTS - 1].parts[0].content, PartContent::Url(_)));
}

#[tokio::test]
async fn a_page_of_tasks_has_artifacts_only_if_they_are_asked_for_and_ends_at_a_number_of_bytes() {
    let read = Arc::default();
    let agent = agent(&read);
    let page = agent.list(&serde_json::from_value(json!({})).unwrap()).await.unwrap();
    assert_eq!((page.tasks.len(), read.load(Ordering::Relaxed)), (3, 0), "no artifact is read for nothing");
    assert!(page.tasks.iter().all(|task| task.artifacts.is_none()));
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let request = json!({"includeArtifacts": true, "pageToken": token});
        let page = agent.list(&serde_json::from_value(request).unwrap()).await.unwrap();
        let bytes: usize = page.tasks.iter().map(text_bytes).sum();
        assert!(bytes <= 2 * TASK_BYTES_MAX, "{bytes}");
        seen.extend(page.tasks.iter().map(|task| task.id.clone()));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ["run-2", "run-1", "run-0"]);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_end_of_a_task() {
    let agent = agent(&Arc::default());
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "q"}]});
    let sent = serde_json::from_value(json!({"message": message})).unwrap();
    let failure = agent.stream(&sent).await.unwrap().wait_until_paused().await.unwrap_err();
    assert_eq!(failure.status, http::StatusCode::SERVICE_UNAVAILABLE);
    let body = agent.stream(&sent).await.unwrap().into_response(Some(7.into())).into_body();
    let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["id"], &last["error"]["code"]), (&json!(7), &json!(a2a::error_code::INTERNAL_ERROR)));
}
