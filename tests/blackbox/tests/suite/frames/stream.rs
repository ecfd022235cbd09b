//! FO-53, FO-57, FO-59, FO-72, FO-96: the stream to the byte: head, events, keepalives, numbers, parameters.
//! Must not know: filters, or resumption.

use blackbox::{Server, StreamItem};
use serde_json::json;

use super::speak::{
    Field, Sent, advisory, encode, frame, id_of, patient_server, payload, refused, sent, stream_path, submit,
    subscribe, subscribe_with, tell,
};

/// FO-53, FO-96: a GET, answered 200 at once, with the media type of event streams and no other.
#[tokio::test]
async fn fo_53_96_the_head() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let stream = subscribe(&alice).await;
    assert_eq!(stream.head.status, 200);
    let kind = stream.head.header("content-type").unwrap_or_default();
    assert!(["text/event-stream", "text/event-stream; charset=utf-8"].contains(&kind), "{kind:?}");
    assert!(stream.head.header("content-length").is_none(), "it has no end: {}", stream.head);
    let encoded = stream.head.header("content-encoding");
    assert!(encoded.is_none(), "nothing holds events back to compress them");
    let cached = stream.head.header("cache-control").unwrap_or_default();
    assert!(cached.contains("no-cache") || cached.contains("no-store"), "no cache keeps it: {cached:?}");
    let accept =
        [("Accept", "text/event-stream"), ("Accept-Encoding", "gzip, br"), ("Cache-Control", "no-cache")];
    let other = alice.try_stream(&stream_path(&alice, ""), &accept).await.expect("as a browser asks");
    assert!(other.head.header("content-encoding").is_none());
}

/// FO-59: `id` and `data`, one line each, LF, nothing else; the number of the answer is the number of the event.
#[tokio::test]
async fn fo_59_an_event_to_the_byte() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    for text in [
        "plain",
        "two\nlines\r\nand\rmore\n\n",
        "data: x\n\nid: 9\n\n",
        "\u{2028}\u{2029}\u{85}\u{feff}\u{7f}",
        "\"quotes\" \\ and 😀 é",
        ": keepalive",
    ] {
        let frame = advisory(&alice, "~alice", text);
        let Sent { event_id, count } = sent(&submit(&alice, &frame).await, &frame);
        assert_eq!(count, 1);
        // The reader refuses anything but one id line and one data line with bare LF.
        let event = stream.event().await;
        assert_eq!(event.frame, frame);
        assert_eq!(event.id, event_id);
        assert!(event.bytes.contains(&format!("id: {event_id}\n")), "{:?}", event.bytes);
        assert!(event.bytes.contains("\ndata: {") || event.bytes.starts_with("data: {"), "{:?}", event.bytes);
    }
}

/// However a frame was laid out, it leaves on one line.
#[tokio::test]
async fn fo_59_a_pretty_frame_is_one_line() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    for kind in ["agent_binding_moment", "intent_declare"] {
        let good = frame(&alice, "~alice", kind, payload(kind, true));
        let pretty = serde_json::to_string_pretty(&good).expect("JSON");
        let crlf = pretty.replace('\n', "\r\n");
        for body in [format!("\n\n{pretty}\n\n"), crlf, format!("{{\"frame\":{pretty}}}")] {
            let answer = alice.post_raw("/frames", body.as_bytes()).await;
            assert_eq!(sent(&answer, &good).count, 1);
            assert_eq!(stream.event().await.frame, good);
        }
    }
}

/// FO-57: a comment within 15 s of silence.
#[tokio::test]
async fn fo_57_keepalives() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    for _ in 0..2 {
        let mut heard = stream.next_item().await;
        // Whatever comment a server greets with is no keepalive.
        if heard != StreamItem::Comment(": keepalive\n\n".to_owned()) {
            heard = stream.next_item().await;
        }
        assert_eq!(heard, StreamItem::Comment(": keepalive\n\n".to_owned()));
    }
    assert_eq!(tell(&alice, "~alice", "~alice", "still there").await, 1);
    stream.event().await;
}

/// FO-59: one rising counter per handle, the same for every subscriber, rising on an empty fan-out too.
#[tokio::test]
async fn fo_59_ids_rise_per_handle() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let mut one = subscribe(&alice).await;
    let mut two = subscribe_with(&alice, "instrument=cc-laptop").await;
    let mut before = 0;
    for number in 0..20 {
        let from = if number % 2 == 0 { &alice } else { &bob };
        let frame = advisory(from, "~alice", "to all");
        let answer = sent(&submit(from, &frame).await, &frame);
        let (first, second) = (one.event().await, two.event().await);
        assert_eq!((first.id, second.id), (answer.event_id, answer.event_id), "one number for everyone");
        assert!(answer.event_id > before, "it rises");
        let nobody = advisory(&alice, "~alice", "to nobody");
        let path = format!("/frames?scope={}", encode("~alice/nothing*"));
        let empty = sent(&alice.post(&path, nobody.clone()).await, &nobody);
        assert_eq!(empty.count, 0);
        assert!(empty.event_id > answer.event_id, "an empty fan-out has a number too");
        before = empty.event_id;
    }
    let frame = advisory(&alice, "~bob", "to bob");
    let other = sent(&submit(&alice, &frame).await, &frame);
    assert!(other.event_id > 0, "another handle counts for itself");
}

/// Numbers and order are the same for all, also when many submit at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_59_one_order_for_all() {
    const SENDERS: usize = 8;
    const EACH: usize = 40;
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(subscribe(&alice).await);
    }
    let mut senders = Vec::new();
    for sender in 0..SENDERS {
        let agent = server.agent(&format!("@sender{sender}.bot")).await;
        senders.push(tokio::spawn(async move {
            let mut numbers = Vec::new();
            for number in 0..EACH {
                let frame = advisory(&agent, "~alice", &format!("{sender}-{number}"));
                numbers
                    .push((sent(&submit(&agent, &frame).await, &frame).event_id, id_of(&frame).to_owned()));
            }
            numbers
        }));
    }
    let mut answers = Vec::new();
    for sender in senders {
        let numbers = sender.await.expect("a sender");
        assert!(numbers.windows(2).all(|pair| pair[0].0 < pair[1].0), "one sender's frames stay in order");
        answers.extend(numbers);
    }
    answers.sort_unstable();
    for stream in &mut streams {
        let mut heard = Vec::new();
        for _ in 0..SENDERS * EACH {
            let event = stream.event().await;
            heard.push((event.id, event.frame_id().to_owned()));
        }
        assert_eq!(heard, answers, "every frame, once, in the order of its number");
    }
}

/// What a session says of itself when it opens the stream has a grammar.
#[tokio::test]
async fn fo_53_parameters_of_a_session() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let long = "s".repeat(129);
    for (name, value) in [
        ("instrument", "CC"),
        ("instrument", "cc-"),
        ("instrument", "-cc"),
        ("instrument", "c/c"),
        ("instrument", "c*"),
        ("instrument", "c@c"),
        ("instrument", "c c"),
        ("instrument", "é"),
        ("instrument", &long[..65]),
        ("session_id", "a/b"),
        ("session_id", "a*"),
        ("session_id", "a@b"),
        ("session_id", "é"),
        ("session_id", "a\tb"),
        ("session_id", "a\nb"),
        ("session_id", &long),
    ] {
        let path = stream_path(&alice, &format!("{name}={}", encode(value)));
        let answer = alice.try_stream(&path, &[]).await.expect_err(value);
        refused(&answer, 400, "field-invalid", Field::At(name));
    }
    for (instrument, session) in [("a", "x"), (&long[..64], &long[..128]), ("cc_1-2", "a.b:c;d=e,f")] {
        let query = format!("instrument={instrument}&session_id={}&tool=cc", encode(session));
        let stream = subscribe_with(&alice, &query).await;
        let scope = format!("~alice/{instrument}@{session}");
        assert_eq!(tell(&alice, "~alice", &scope, "hello").await, 1, "{scope}");
        drop(stream);
    }
}

/// The same inside TLS.
#[tokio::test]
async fn fo_53_a_stream_over_tls() {
    let server = Server::builder().tls().start().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    let frame = advisory(&alice, "~alice", "inside");
    let answer = sent(&submit(&alice, &frame).await, &frame);
    let event = stream.event().await;
    assert_eq!((event.id, event.frame), (answer.event_id, frame));
}

/// FO-53: one way. What a subscriber writes after its request reaches nobody and harms nobody.
#[tokio::test]
async fn fo_53_a_stream_is_one_way() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    let body = advisory(&alice, "~alice", "by the wrong way");
    let path = stream_path(&alice, "");
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let answer = alice.call(method, &path, &[], Some(&body)).await;
        assert!([404, 405].contains(&answer.status), "{method}: {answer}");
    }
    let get = alice.get("/frames").await;
    assert!([404, 405].contains(&get.status), "{get}");
    assert_eq!(tell(&alice, "~alice", "~alice", "by the right way").await, 1);
    assert_eq!(stream.event().await.frame["payload"], json!({"advisory_text": "by the right way"}));
}
