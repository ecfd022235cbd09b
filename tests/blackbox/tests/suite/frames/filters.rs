//! FO-64 to FO-72, FO-91: what a subscriber asked to be spared. Must not know: organisations (`orgs` has that axis).

use blackbox::{Agent, Server, Stream};
use serde_json::Value;

use super::catalogue::KINDS;
use super::speak::{
    Field, advisory, encode, frame, id_of, patient_server, payload, refused, sent, stream_path, submit,
    subscribe, subscribe_to, subscribe_with,
};

/// What a submission says of its session.
type Headers = &'static [(&'static str, &'static str)];

/// One frame of every kind to alice.
async fn one_of_each(from: &Agent) -> Vec<(String, Value)> {
    let mut frames = Vec::new();
    for (kind, _) in KINDS {
        let mut frame = frame(from, "~alice", kind, payload(kind, true));
        if *kind == "intent_declare" {
            frame["payload"]["acted_by"] = frame["sender_handle"].clone();
        }
        frames.push(((*kind).to_owned(), frame));
    }
    frames
}

/// The kinds that come before the fence, which the stream must let through.
async fn kinds_until(stream: &mut Stream, fence: &Value) -> Vec<String> {
    let mut events = stream.until(id_of(fence)).await;
    events.pop();
    events.iter().map(|event| event.frame["kind"].as_str().expect("a kind").to_owned()).collect()
}

/// The substrate filters, and the count is of what it emitted.
#[tokio::test]
async fn fo_64_65_72_by_kind() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut streams = Vec::new();
    for (kind, _) in KINDS {
        streams.push((*kind, subscribe_to(&alice, &format!("kind:{kind}")).await));
    }
    for (kind, frame) in one_of_each(&alice).await {
        assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 1, "one subscription wants {kind}");
    }
    for (kind, stream) in &mut streams {
        assert_eq!(stream.event().await.frame["kind"], *kind);
        let fence = frame(&alice, "~alice", kind, payload(kind, false));
        sent(&submit(&alice, &fence).await, &fence);
        assert!(kinds_until(stream, &fence).await.is_empty(), "{kind} and nothing else");
    }
}

/// FO-64: an empty filter, or none, lets everything through.
#[tokio::test]
async fn fo_64_no_filter() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut streams = [subscribe(&alice).await, subscribe_to(&alice, "").await];
    for (kind, frame) in one_of_each(&alice).await {
        assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 2, "{kind}");
        for stream in &mut streams {
            assert_eq!(stream.event().await.frame, frame);
        }
    }
}

/// By sender: the principal of the frame.
#[tokio::test]
async fn fo_66_by_sender() {
    let (_server, [alice, bob, other]) = Server::with(["@alice.bot", "@bob.bot", "@bob-2.bot"]).await;
    let mut by_bob = subscribe_to(&alice, "sender:~bob").await;
    let unknown = subscribe_to(&alice, "sender:~nobody").await;
    for (from, count) in [(&alice, 0), (&bob, 1), (&other, 0), (&bob, 1)] {
        let frame = advisory(from, "~alice", "hello");
        assert_eq!(sent(&submit(from, &frame).await, &frame).count, count, "{}", from.handle);
    }
    for _ in 0..2 {
        assert_eq!(by_bob.event().await.frame["sender_handle"], "~bob");
    }
    drop(unknown);
}

/// FO-67, FO-70: no payload of version 1.0 has a content type, so the clause matches nothing.
#[tokio::test]
async fn fo_67_by_content_type() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut streams = Vec::new();
    for filter in ["content_type:text/plain", "content_type:x", "kind:agent_advisory,content_type:x"] {
        streams.push(subscribe_to(&alice, filter).await);
    }
    for (kind, frame) in one_of_each(&alice).await {
        assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 0, "{kind}");
    }
    nothing_came(&server, &alice, &mut streams).await;
}

/// Ends the streams from the server's side and demands that they brought nothing.
async fn nothing_came(server: &Server, agent: &Agent, streams: &mut [Stream]) {
    let path = format!("/_admin/agents/{}/rotate-token", agent.handle);
    server.operator().post_empty(&path).await.ok(200);
    for stream in streams {
        let (events, _) = stream.ending().await;
        assert!(events.is_empty(), "{events:?}");
    }
}

/// FO-68: by the tool class of the session that sent: what it said, else the beginning of its instrument, else of its
/// agent's name.
#[tokio::test]
async fn fo_68_by_tool() {
    let (_server, [alice, laptop, plain]) =
        Server::with(["@alice.bot", "@nick.cc-laptop", "@nick.cursor"]).await;
    let mut cc = subscribe_to(&alice, "tool:cc").await;
    let mut cursor = subscribe_to(&alice, "tool:cursor").await;
    let rows: &[(&Agent, Headers, &str)] = &[
        (&laptop, &[], "cc"),
        (&plain, &[], "cursor"),
        (&plain, &[("X-Agent-Instrument", "cc-phone")], "cc"),
        (&laptop, &[("X-Agent-Instrument", "cursor")], "cursor"),
        (&laptop, &[("X-Agent-Tool", "cursor")], "cursor"),
        (&laptop, &[("X-Agent-Instrument", "codex-1"), ("X-Agent-Tool", "cc")], "cc"),
        (&laptop, &[("X-Agent-Instrument", "codex-1")], "codex"),
        (&laptop, &[("X-Agent-Instrument", "ccc-1")], "ccc"),
        (&laptop, &[("X-Agent-Session", "s1")], "cc"),
        (&plain, &[("X-Agent-Tool", "cc")], "cc"),
        (&plain, &[], "cursor"),
    ];
    for (from, headers, tool) in rows {
        let frame = advisory(from, "~alice", tool);
        let answer = from.call("POST", "/frames", headers, Some(&frame)).await;
        let known = ["cc", "cursor"].contains(tool);
        assert_eq!(sent(&answer, &frame).count, u64::from(known), "{headers:?} of {}: {answer}", from.handle);
        let stream = if *tool == "cc" { &mut cc } else { &mut cursor };
        if known {
            assert_eq!(stream.event().await.frame, frame, "{headers:?}");
        }
    }
}

/// FO-64: all clauses hold, the same axis twice included.
#[tokio::test]
async fn fo_64_clauses_are_anded() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.cc-laptop"]).await;
    let rows = [
        ("kind:agent_advisory,sender:~bob", 1),
        ("sender:~bob,kind:agent_advisory", 1),
        ("kind:agent_advisory,kind:agent_advisory", 2),
        ("kind:agent_advisory,kind:agent_query", 0),
        ("sender:~alice,sender:~bob", 0),
        ("kind:agent_query,sender:~bob", 0),
        ("kind:agent_advisory,sender:~bob,tool:cc", 1),
        ("kind:agent_advisory,sender:~bob,tool:cursor", 0),
        ("kind:agent_advisory,org:acme", 0),
    ];
    for (filter, matches) in rows {
        let stream = subscribe_to(&alice, filter).await;
        let mut count = 0;
        for from in [&alice, &bob] {
            let frame = advisory(from, "~alice", filter);
            count += sent(&submit(from, &frame).await, &frame).count;
        }
        assert_eq!(count, matches, "{filter}");
        stream.cut().await;
        blackbox::eventually("a closed stream is no subscription", || async {
            let roster = alice.get("/handles/~alice/roster").await.ok(200);
            roster["roster"].as_array().is_some_and(Vec::is_empty).then_some(())
        })
        .await;
    }
}

/// FO-70: a filter that is given twice never widens: it is refused, or both hold.
#[tokio::test]
async fn fo_70_two_filters_never_widen() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for query in [
        "filter=kind:agent_advisory&filter=kind:agent_query",
        "filter=&filter=kind:agent_query",
        "filter=kind:agent_query&filter=",
    ] {
        match alice.try_stream(&stream_path(&alice, query), &[]).await {
            Err(answer) => assert_eq!(answer.status, 400, "{query}: {answer}"),
            Ok(stream) => {
                let frame = advisory(&alice, "~alice", "hello");
                assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 0, "{query}");
                stream.cut().await;
            }
        }
    }
}

/// FO-65, FO-66, FO-71: a filter with a mistake opens nothing.
#[tokio::test]
async fn fo_71_faulty_filters() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let axis = [
        "kinds:agent_advisory",
        "Kind:agent_advisory",
        " kind:agent_advisory",
        "event_class:merged",
        "recipient:~alice",
        "frame.kind:agent_advisory",
        ":agent_advisory",
        ":",
        "agent_advisory",
        "kind",
        "kind=agent_advisory",
        ",",
        "kind:agent_advisory,",
        ",kind:agent_advisory",
        "kind:agent_advisory,,sender:~bob",
        "kind:agent_advisory, sender:~bob",
    ];
    let value = [
        "kind:agent_memo",
        "kind:",
        "kind:*",
        "kind: agent_advisory",
        "kind:agent_advisory ",
        "kind:AGENT_ADVISORY",
        "kind:agent_advisory|agent_query",
        "kind:agent_advisory:agent_query",
        "sender:",
        "sender:bob",
        "sender:@bob.bot",
        "sender:~",
        "sender:~Bob",
        "sender:~bob-",
        "sender:~bob@1",
        "sender:~bob/*",
        "sender: ~bob",
        "sender:~bob ",
        "sender:*",
    ];
    for filter in axis {
        refused(&faulty(&alice, filter).await, 400, "filter-axis-unknown", Field::Any);
    }
    for filter in value {
        refused(&faulty(&alice, filter).await, 400, "filter-value-invalid", Field::Any);
        let later = format!("kind:agent_advisory,{filter}");
        refused(&faulty(&alice, &later).await, 400, "filter-value-invalid", Field::Any);
    }
    let frame = advisory(&alice, "~alice", "hello");
    assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 0, "none of them is a subscription");
}

async fn faulty(alice: &Agent, filter: &str) -> blackbox::Response {
    let path = stream_path(alice, &format!("filter={}", encode(filter)));
    alice.try_stream(&path, &[]).await.expect_err(filter)
}

/// FO-91: the parameter is `filter`, percent-encoded or plain.
#[tokio::test]
async fn fo_91_the_parameter_is_filter() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut streams = Vec::new();
    for (query, count) in [
        ("filter=kind:agent_query,sender:~bob", 0),
        ("filter=kind%3Aagent_query%2Csender%3A%7Ebob", 0),
        ("filter=kind:agent_advisory,sender:~alice", 1),
        ("filter=kind%3Aagent_advisory%2Csender%3A%7Ealice", 2),
    ] {
        streams.push(subscribe_with(&alice, query).await);
        let frame = advisory(&alice, "~alice", "hello");
        assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, count, "{query}");
    }
}
