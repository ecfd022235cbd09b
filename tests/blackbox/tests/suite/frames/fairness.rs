//! What one handle leaves unread costs no other handle anything that it was promised (D.5), and parameters that a stream
//! does not have.
//! Must not know: how much room there is.

use blackbox::{Agent, Server};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use super::crowd::stall;
use super::speak::{
    Field, advisory, frame, id_of, patient_server, refused, resume, sent, stream_path, submit, submit_to,
    subscribe, tilde, uuid,
};

/// Handles that flood their own streams, which nobody reads, and how many frames of about 30 KiB each gets: more together
/// than all handles have room for.
const LOUD: usize = 3;
const FLOOD: usize = 800;
/// Frames of the handle that was promised that they are kept.
const CALM: usize = 60;

fn big(from: &Agent, number: usize) -> Value {
    let refs: Vec<String> = (0..56).map(|nth| format!("{number}-{nth}-{}", "x".repeat(500))).collect();
    frame(from, &tilde(from), "agent_advisory", json!({"advisory_text": uuid(), "file_refs": refs}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_5_stalled_streams_never_shorten_what_another_handle_was_promised() {
    let server = patient_server().await;
    let calm = server.agent("@calm.bot").await;
    let mut loud = Vec::new();
    let mut stalled = Vec::new();
    for number in 0..LOUD {
        let agent = server.agent(&format!("@loud{number}.bot")).await;
        stalled.push(stall(&agent).await);
        loud.push(agent);
    }
    let mut paused = subscribe(&calm).await;
    let start = advisory(&calm, "~calm", "start");
    let start = sent(&submit(&calm, &start).await, &start).event_id;
    let mut promised = Vec::new();
    for number in 0..CALM {
        let frame = advisory(&calm, "~calm", &format!("{number}"));
        sent(&submit(&calm, &frame).await, &frame);
        promised.push(frame);
    }
    let floods = loud.iter().map(|agent| async move {
        for number in 0..FLOOD {
            let frame = big(agent, number);
            sent(&submit(agent, &frame).await, &frame);
        }
    });
    join_all(floods).await;
    let mut resumed = resume(&calm, &start.to_string()).await;
    for frame in &promised {
        assert_eq!(resumed.event().await.frame_id(), id_of(frame), "it is retained");
    }
    assert_eq!(paused.event().await.id, start);
    for frame in &promised {
        assert_eq!(paused.event().await.frame_id(), id_of(frame), "a reader that paused gets all of it");
    }
    drop(stalled);
}

/// Streams of one owner that lag, and the frames of about 30 KiB that wait for each: more together than the answers of one
/// owner may hold.
const LAGGING: usize = 300;
const WAITING: usize = 50;

/// Reads a piece; true once a frame has come. The end of what was read before may be the beginning of its id.
async fn read_piece(stream: &mut TcpStream, before: &mut Vec<u8>, id: &str) -> bool {
    let kept = before.len();
    before.resize(kept + (16 << 10), 0);
    let read = stream.read(&mut before[kept..]).await.expect("an open stream");
    assert!(read > 0, "the stream ended");
    before.truncate(kept + read);
    let came = String::from_utf8_lossy(before).contains(id);
    before.drain(..before.len().saturating_sub(id.len()));
    came
}

/// Slow reading by many streams ends none of them: what waits for a stream stays in the ring, which all of them share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_5_many_streams_of_one_owner_lag_together_and_none_ends() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut lagging = Vec::new();
    for _ in 0..LAGGING {
        lagging.push(stall(&alice).await);
    }
    let mut last = String::new();
    for number in 0..WAITING {
        let frame = big(&alice, number);
        assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, LAGGING as u64);
        last = id_of(&frame).to_owned();
    }
    // All read equally slowly, so that something waits for each of them all the time.
    let mut reading: Vec<_> = lagging.into_iter().map(|stream| (stream, Vec::new())).collect();
    while !reading.is_empty() {
        let mut rest = Vec::new();
        for (mut stream, mut before) in reading {
            if !read_piece(&mut stream, &mut before, &last).await {
                rest.push((stream, before));
            }
        }
        reading = rest;
    }
}

/// Handles of others that one owner floods, and how many frames of about 30 KiB each gets: more together than there is
/// room for all.
const FLOODED: usize = 20;
const EACH: usize = 120;
/// Frames of about 30 KiB that another handle is promised; more than an equal part of the room.
const KEPT: usize = 150;

/// Two owners: what the one sends to many handles of others never shortens what another handle was promised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_5_one_owner_that_floods_many_handles_leaves_the_others_theirs() {
    let server = patient_server().await;
    let operator = server.operator();
    let (calm, eve) = (server.agent("@calm.bot").await, server.agent("@eve.bot").await);
    operator.call("PUT", "/_admin/orgs/acme", &[], None).await.ok(201);
    let mut flooded = Vec::new();
    for owner in (0..FLOODED).map(|number| format!("flooded{number}")).chain(["eve".to_owned()]) {
        let path = format!("/_admin/orgs/acme/members/~{owner}");
        if owner != "eve" {
            flooded.push(server.agent(&format!("@{owner}.bot")).await);
        }
        let answer = operator.put(&path, json!({"roles": []})).await;
        assert!([200, 201].contains(&answer.status), "{answer}");
    }
    let start = advisory(&calm, "~calm", "start");
    let start = sent(&submit(&calm, &start).await, &start).event_id;
    let mut promised = Vec::new();
    for number in 0..KEPT {
        let frame = big(&calm, number);
        sent(&submit(&calm, &frame).await, &frame);
        promised.push(frame);
    }
    let mut last = Value::Null;
    for number in 0..EACH {
        last = big(&eve, number);
        last["recipient_handle"] = json!("~acme");
        sent(&submit_to(&eve, "org:acme/members/*", &last).await, &last);
    }
    let mut resumed = resume(&calm, &start.to_string()).await;
    for frame in &promised {
        assert_eq!(resumed.event().await.frame_id(), id_of(frame), "it is retained");
    }
    // The newest that the flood brought is retained at each.
    for agent in &flooded {
        let mut stream = agent.stream(&stream_path(agent, "retained=true")).await;
        while stream.event().await.frame_id() != id_of(&last) {}
    }
}

/// A misspelt filter would open a stream of everything, and a misspelt scope would reach everybody.
#[tokio::test]
async fn d_5_a_parameter_that_there_is_not_is_refused() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for (query, name) in [
        ("filters=kind:agent_query", "filters"),
        ("Filter=kind:agent_query", "Filter"),
        ("filter=kind:agent_query&kind=agent_query", "kind"),
        ("token=x", "token"),
    ] {
        let response = alice.get(&stream_path(&alice, query)).await;
        refused(&response, 400, "filter-axis-unknown", Field::At(name));
    }
    let frame = advisory(&alice, "~alice", "to whom?");
    for name in ["Scope", "scopes", "filter"] {
        let response = alice.post(&format!("/frames?{name}=~alice%2F*"), frame.clone()).await;
        refused(&response, 400, "field-unknown", Field::At(name));
    }
    drop(subscribe(&alice).await);
}
