//! FO-53, FO-56, FO-79, FO-80: a thousand subscribers of one handle, and some that never read.
//! Must not know: how long anything takes; the bench measures that.

use blackbox::{Agent, Server, Stream, render, rounds};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::speak::{
    advisory, frame, id_of, patient_server, sent, stream_path, submit, subscribe, subscribe_to, uuid,
};

/// Subscribers of one handle.
const SUBSCRIBERS: usize = 1_000;
/// Agents that share them.
const AGENTS: usize = 4;
const FRAMES: usize = 20;
/// Subscribers that never read, and what they leave unread.
const STALLED: usize = 20;
const UNREAD: usize = 400;
/// What their backlog may cost: far less than the backlog itself.
const GROWTH_KIB_MAX: u64 = 96 * 1024;

/// A frame of about 30 KiB.
pub(super) fn big(from: &Agent, number: usize) -> Value {
    let refs: Vec<String> = (0..56).map(|nth| format!("{number}-{nth}-{}", "x".repeat(500))).collect();
    frame(from, "~alice", "agent_advisory", json!({"advisory_text": uuid(), "file_refs": refs}))
}

/// Opens a stream and reads nothing but its head; the kernel's buffer is small, so that the server soon feels it.
pub(super) async fn stall(agent: &Agent) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(agent.address().get()).await.expect("a connection");
    let bearer = format!("Bearer {}", agent.token());
    let request = render("GET", &stream_path(agent, ""), &[("Authorization", &bearer)], None);
    stream.write_all(&request).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Every frame reaches all of them, in one order, and the count says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_53_a_thousand_subscribers() {
    let server = patient_server().await;
    let count = rounds(SUBSCRIBERS, 200);
    let mut agents = Vec::new();
    for number in 0..AGENTS {
        agents.push(server.agent(&format!("@alice.n{number}")).await);
    }
    let mut streams: Vec<Stream> = Vec::new();
    for number in 0..count {
        streams.push(subscribe(&agents[number % AGENTS]).await);
    }
    let picky = subscribe_to(&agents[0], "kind:agent_query").await;
    let sender = server.agent("@sender.bot").await;
    let mut frames = Vec::new();
    for number in 0..FRAMES {
        let frame = advisory(&sender, "~alice", &format!("{number}"));
        let answer = sent(&submit(&sender, &frame).await, &frame);
        assert_eq!(answer.count, count as u64, "the count covers all, and not who filtered it out");
        frames.push((answer.event_id, frame));
    }
    for (nth, stream) in streams.iter_mut().enumerate() {
        for (id, frame) in &frames {
            let event = stream.event().await;
            assert_eq!((event.id, &event.frame), (*id, frame), "subscriber {nth}");
        }
    }
    let roster = agents[0].get("/handles/~alice/roster").await.ok(200);
    assert_eq!(roster["roster"].as_array().map(Vec::len), Some(count + 1));
    drop(picky);
}

/// One subscriber that never reads: the others get every frame at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_53_a_stalled_subscriber_holds_nobody_up() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut first = subscribe(&alice).await;
    let stalled = stall(&alice).await;
    let mut last = subscribe(&alice).await;
    for number in 0..UNREAD {
        let frame = big(&alice, number);
        sent(&submit(&alice, &frame).await, &frame);
        for stream in [&mut first, &mut last] {
            assert_eq!(stream.event().await.frame_id(), id_of(&frame), "frame {number}");
        }
    }
    drop(stalled);
}

/// Many of them cost little: what they do not read is not kept for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_80_stalled_subscribers_cost_little() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    // What is retained for resumption is there whether anybody stalls or not.
    for number in 0..300 {
        let frame = big(&alice, number);
        sent(&submit(&alice, &frame).await, &frame);
        stream.until(id_of(&frame)).await;
    }
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.push(stall(&alice).await);
    }
    let before = server.resident_kib();
    for number in 0..UNREAD {
        let frame = big(&alice, number);
        sent(&submit(&alice, &frame).await, &frame);
        stream.until(id_of(&frame)).await;
    }
    let grown = server.resident_kib().saturating_sub(before);
    let backlog = STALLED * UNREAD * 30;
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more for a backlog of {backlog} KiB");
    drop(stalled);
}

/// Who comes back after having stalled starts like anyone else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_60_a_stalled_subscriber_comes_back() {
    let server: Server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let stalled = stall(&alice).await;
    let mut reader = subscribe(&alice).await;
    for number in 0..UNREAD {
        let frame = big(&alice, number);
        sent(&submit(&alice, &frame).await, &frame);
        reader.event().await;
    }
    drop(stalled);
    let mut again = subscribe(&alice).await;
    let frame = advisory(&alice, "~alice", "fresh");
    assert!(sent(&submit(&alice, &frame).await, &frame).count >= 2);
    assert_eq!(again.event().await.frame, frame);
}
