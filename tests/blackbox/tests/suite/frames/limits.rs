//! FO-78, FO-80: how often a sender may submit and how much: 429 and 413. Must not know: what is valid beyond that.

use std::time::Instant;

use blackbox::{Agent, Connection, Response, Server, eventually};
use serde_json::{Value, json};

use super::speak::{
    Field, advisory, before_fence, frame, id_of, patient_server, payload, refused, sent, submit, submit_to,
    subscribe, subscribe_as, tell,
};

/// What a sender may submit at once by default.
const BURST: usize = 400;
/// More than any burst.
const FLOOD_MAX: usize = 3_000;
const FRAME_BYTES_MAX: usize = 32 * 1024;
const BODY_BYTES_MAX: usize = 34 * 1024;

/// Submits on one connection as fast as answers come, until one is refused; the texts that were accepted, and the refusal.
async fn flood(from: &Agent, to: &str, most: usize) -> (usize, Option<Response>) {
    let mut connection = Connection::open(from.address().place()).await.expect("a connection");
    for number in 0..most {
        let frame = advisory(from, to, &format!("{number}"));
        let request = from.request("POST", "/frames", &[], Some(frame.to_string().as_bytes()));
        let answer = connection.round_trip(&request).await.expect("an answer");
        if answer.status != 200 {
            return (number, Some(answer));
        }
    }
    (most, None)
}

/// FO-78: past the limit 429 with the seconds to wait; what was refused reached nobody; others are not held up.
#[tokio::test]
async fn fo_78_a_sender_is_slowed_down() {
    let server = Server::builder().arg("--frames-rate").arg("1").start().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let mut stream = subscribe(&alice).await;
    let (accepted, answer) = flood(&alice, "~alice", FLOOD_MAX).await;
    let answer = answer.expect("there is a limit");
    refused(&answer, 429, "rate-limited", Field::Any);
    let wait = answer.header("retry-after").expect("how long to wait (D.5)");
    let wait: u64 = wait.parse().expect("whole seconds");
    assert!((1..=60).contains(&wait), "{answer}");
    assert!(accepted > 0);
    // Another principal, and the same one's right to listen, are untouched.
    assert_eq!(tell(&bob, "~bob", "~bob", "hello").await, 0);
    alice.get("/handles/~alice/roster").await.ok(200);
    let fence = advisory(&alice, "~alice", "fence");
    eventually("the sender may submit again", || async {
        let answer = submit(&alice, &fence).await;
        if answer.status != 200 {
            refused(&answer, 429, "rate-limited", Field::Any);
        }
        (answer.status == 200).then_some(())
    })
    .await;
    let heard = stream.until(id_of(&fence)).await;
    assert_eq!(heard.len(), accepted + 1, "the accepted ones and the fence");
}

/// Both numbers are the operator's to set.
#[tokio::test]
async fn fo_78_rate_and_burst_are_configured() {
    let server = Server::builder().config("[frames]\nrate_per_s = 1\nburst = 5\n").start().await;
    let alice = server.agent("@alice.bot").await;
    let began = Instant::now();
    let (accepted, answer) = flood(&alice, "~alice", FLOOD_MAX).await;
    refused(&answer.expect("there is a limit"), 429, "rate-limited", Field::Any);
    // One a second comes back while the test runs.
    let back = usize::try_from(began.elapsed().as_secs()).expect("few") + 1;
    assert!((5..=5 + back).contains(&accepted), "{accepted}");
}

/// FO-81: a sender that declares intents without end and carries none out is taken for a flood: intents have no way
/// around the limit.
#[tokio::test]
async fn fo_81_intents_without_a_flush_are_slowed_down() {
    let server = Server::builder().config("[frames]\nrate_per_s = 1\nburst = 5\n").start().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    let mut accepted = 0;
    let refusal = loop {
        let mut intent = frame(&alice, "~alice", "intent_declare", payload("intent_declare", true));
        intent["payload"]["acted_by"] = intent["sender_handle"].clone();
        let answer = submit(&alice, &intent).await;
        if answer.status != 200 {
            break answer;
        }
        assert_eq!(stream.event().await.frame, intent, "one that is accepted is delivered");
        accepted += 1;
        assert!(accepted < FLOOD_MAX, "there is a limit");
    };
    refused(&refusal, 429, "rate-limited", Field::Any);
    assert!(accepted >= 5, "a burst is nobody's abuse: {accepted}");
}

/// FO-79: a scope that reaches more than the cap is refused whole; a narrower one on the same crowd is not.
#[tokio::test]
async fn fo_79_an_expansion_is_capped() {
    let server = Server::builder().config("[frames]\nexpansion_max = 3\n").start().await;
    let alice = server.agent("@alice.bot").await;
    let mut streams = Vec::new();
    for session in ["s1", "s2", "s3", "s4", "s5"] {
        let instrument = if session == "s1" { "cc" } else { "cursor" };
        streams.push(subscribe_as(&alice, instrument, session).await);
    }
    for scope in ["~alice", "~alice/*", "~alice/cursor*", "~alice/c*"] {
        let answer = submit_to(&alice, scope, &advisory(&alice, "~alice", "too broad")).await;
        refused(&answer, 403, "scope-unauthorised", Field::Any);
    }
    assert_eq!(tell(&alice, "~alice", "~alice/cursor@s5", "one").await, 1);
    assert_eq!(tell(&alice, "~alice", "~alice/cc*", "another").await, 1);
    assert_eq!(streams[4].event().await.frame["payload"]["advisory_text"], "one", "FO-63");
    assert_eq!(streams[0].event().await.frame["payload"]["advisory_text"], "another", "FO-63");
}

/// The burst that is promised is granted.
#[tokio::test]
async fn fo_78_the_burst_is_granted() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let (accepted, answer) = flood(&alice, "~alice", BURST).await;
    assert_eq!(accepted, BURST, "{}", answer.map(|answer| answer.to_string()).unwrap_or_default());
}

/// An advisory whose JSON has exactly so many bytes.
fn sized(from: &Agent, bytes: usize) -> Value {
    let mut frame = advisory(from, "~alice", "big é");
    frame["payload"]["file_refs"] = json!([]);
    loop {
        let missing = bytes.checked_sub(frame.to_string().len()).expect("room for the frame");
        if missing == 0 {
            return frame;
        }
        let refs = frame["payload"]["file_refs"].as_array_mut().expect("a list");
        let around = if refs.is_empty() { 2 } else { 3 };
        let size = match missing - around {
            size @ 1..=512 => size,
            // What would be left must have room for another one.
            size if size - 512 < 4 => 400,
            _ => 512,
        };
        refs.push(json!("x".repeat(size)));
        assert!(refs.len() <= 64, "a list of at most 64");
    }
}

/// FO-80: a frame of 32 KiB is taken and arrives whole; one byte more is 413.
#[tokio::test]
async fn fo_80_a_frame_ends_at_32_kib() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    for bytes in [FRAME_BYTES_MAX - 1, FRAME_BYTES_MAX] {
        let frame = sized(&alice, bytes);
        assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 1);
        assert_eq!(stream.event().await.frame, frame);
        let wrapped = alice.post("/frames", json!({"scope": "~alice", "frame": frame})).await;
        assert_eq!(sent(&wrapped, &frame).count, 1);
        assert_eq!(stream.event().await.frame, frame);
    }
    let frame = sized(&alice, FRAME_BYTES_MAX + 1);
    refused(&submit(&alice, &frame).await, 413, "field-invalid", Field::Any);
    let query = alice.post("/frames?scope=~alice", frame.clone()).await;
    refused(&query, 413, "field-invalid", Field::Any);
    let wrapped = alice.post("/frames", json!({"scope": "~alice", "frame": frame})).await;
    refused(&wrapped, 413, "field-invalid", Field::Any);
    assert!(before_fence(&alice, &alice, &mut stream).await.is_empty(), "FO-63");
}

/// FO-80: a wrapped body of 34 KiB is taken; one byte more is 413, with a length or in chunks.
#[tokio::test]
async fn fo_80_a_body_ends_at_34_kib() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    let frame = advisory(&alice, "~alice", "padded");
    let padded = |bytes: usize| {
        let mut body = json!({"scope": "~alice", "frame": frame}).to_string();
        let missing = bytes - body.len();
        body.insert_str(1, &" ".repeat(missing));
        body.into_bytes()
    };
    let whole = alice.post_raw("/frames", &padded(BODY_BYTES_MAX)).await;
    assert_eq!(sent(&whole, &frame).count, 1);
    for bytes in [BODY_BYTES_MAX + 1, 64 * 1024, 2 * 1024 * 1024] {
        let answer = alice.post_raw("/frames", &padded(bytes)).await;
        refused(&answer, 413, "field-invalid", Field::Any);
    }
    let headers = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    let mut request = alice.request("POST", "/frames", &headers, None);
    for chunk in padded(BODY_BYTES_MAX + 1).chunks(4_096) {
        request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    refused(&alice.bytes(&request).await, 413, "field-invalid", Field::Any);
    assert_eq!(before_fence(&alice, &alice, &mut stream).await, ["padded"]);
}
