//! Two agents do a day's work with the tools of `core`.

use blackbox::{Agent, Server, eventually};
use serde_json::{Value, json};

use super::{called, done, listed, refused};

fn texts(read: &Value) -> Vec<&str> {
    read["events"].as_array().expect("events").iter().filter_map(|event| event["text"].as_str()).collect()
}

#[tokio::test]
async fn two_agents_discover_converse_lock_hand_over_deposit_and_recall_through_mcp_alone() {
    let (_server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    assert_eq!(listed(&alice, "core").await.len(), 12);

    let me = done(&alice, "whoami", json!({})).await;
    assert_eq!((&me["me"], &me["agents"][0]["handle"]), (&json!("@nick.alice"), &json!("@nick.bob")));
    let sent = done(&alice, "send", json!({"to": ["@nick.bob"], "text": "Hello", "topic": "Build"})).await;
    let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
    let session = waiting["items"][0]["ref"]["session_id"].clone();
    assert_eq!(session, sent["session_id"]);
    assert_eq!(texts(&done(&bob, "read", json!({"session_id": session})).await), ["Hello"]);
    done(&bob, "send", json!({"session_id": session, "text": "Hi"})).await;
    assert_eq!(texts(&done(&alice, "read", json!({"session_id": session})).await), ["Hello", "Hi"]);

    done(&alice, "lock", json!({"resource": "src/a.rs", "intent": "rewrite"})).await;
    assert_eq!(refused(&bob, "lock", json!({"resource": "src/a.rs"})).await, "resource_claimed");
    let over = json!({"to": "@nick.bob", "note": "Half done", "resource": "src/a.rs"});
    assert_eq!(done(&alice, "hand_over", over).await["released"], 1);
    let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
    let items = waiting["items"].as_array().expect("items");
    assert!(items.iter().any(|item| item["text"].to_string().contains("Half done")), "{waiting}");
    done(&bob, "lock", json!({"resource": "src/a.rs"})).await;
    let left = done(&bob, "inbox", json!({"ack": waiting["cursor"]})).await;
    assert!(!left["items"].to_string().contains("Half done"), "{left}");

    let kept = json!({"title": "Use SQLite", "decisions_made": ["SQLite holds the log"]});
    let kept = done(&bob, "deposit", kept).await;
    let found = done(&alice, "recall", json!({"query": "sqlite"})).await;
    assert_eq!(found["packages"][0]["package_id"], kept["package_id"]);
    let fact = json!({"subject": "log", "predicate": "stored in", "value": "SQLite"});
    done(&alice, "note_fact", fact).await;
    assert_eq!(done(&bob, "recall", json!({"query": "stored"})).await["facts"][0]["value"], "SQLite");
}

#[tokio::test]
async fn a_question_is_answered_by_whoever_waits_for_it_or_its_deadline_passes() {
    let (_server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let question = json!({"to": ["@nick.bob"], "text": "Ready?", "timeout_s": 20});
    let answering = async {
        let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
        let session = waiting["items"][0]["ref"]["session_id"].clone();
        let back = json!({"to": ["@nick.alice"], "text": "?", "timeout_s": 1});
        assert_eq!(refused(&bob, "ask", back).await, "would_deadlock");
        assert_eq!(texts(&done(&bob, "read", json!({"session_id": session})).await), ["Ready?"]);
        done(&bob, "send", json!({"session_id": session, "text": "Yes"})).await;
    };
    let (asked, ()) = tokio::join!(done(&alice, "ask", question), answering);
    assert_eq!((&asked["answers"][0]["text"], &asked["timed_out"]), (&json!("Yes"), &json!(false)));
    let again = json!({"to": ["@nick.bob"], "text": "Still?", "timeout_s": 0});
    let asked = done(&alice, "ask", again).await;
    assert_eq!((&asked["unanswered"], &asked["timed_out"]), (&json!(["@nick.bob"]), &json!(true)));
    assert!(asked["note"].as_str().is_some_and(|note| note.contains("inbox")), "{asked}");
}

/// An invitation that was shown keeps no later message away, and a message without a topic does not go into a session with one.
#[tokio::test]
async fn the_inbox_accepts_invitations_of_siblings_and_shows_their_messages() {
    let (_server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let send = |text: &str, topic: Option<&str>| {
        done(&alice, "send", json!({"to": ["@nick.bob"], "text": text, "topic": topic}))
    };
    let first = send("one", None).await["session_id"].clone();
    let shown = done(&bob, "inbox", json!({})).await;
    assert_eq!(shown["items"][0]["text"], "one", "{shown}");
    assert_ne!(send("apart", Some("Build")).await["session_id"], first);
    assert_eq!(send("two", None).await["session_id"], first);
    let shown = done(&bob, "inbox", json!({"ack": shown["cursor"]})).await;
    let texts: Vec<&Value> =
        shown["items"].as_array().expect("items").iter().map(|item| &item["text"]).collect();
    assert!(texts.contains(&&json!("two")) && texts.contains(&&json!("apart")), "{shown}");
}

/// A question that a stop of the server ends says where it was asked, and its answer comes there.
#[tokio::test]
async fn an_answer_comes_over_a_restart_of_the_server() {
    let (mut server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let stopping = async {
        let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
        let session = waiting["items"][0]["ref"]["session_id"].clone();
        done(&bob, "read", json!({"session_id": session})).await;
        server.stop().await;
        session
    };
    let question = json!({"to": ["@nick.bob"], "text": "Ready?", "timeout_s": 100});
    let (asked, session) = tokio::join!(done(&alice, "ask", question), stopping);
    assert_eq!((&asked["timed_out"], &asked["session_id"]), (&json!(true), &session));
    server.restart().await;
    let (alice, bob) = (alice.at(&server), bob.at(&server));
    let asking = json!({"to": ["@nick.bob"], "text": "Well?", "timeout_s": 100});
    let answering = async {
        let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
        assert_eq!(waiting["items"][0]["text"], "Well?", "{waiting}");
        done(&bob, "send", json!({"session_id": session, "text": "Yes"})).await;
    };
    let (again, ()) = tokio::join!(done(&alice, "ask", asking), answering);
    assert_eq!((&again["session_id"], &again["answers"][0]["text"]), (&session, &json!("Yes")));
}

/// A repetition is not another deposit, and an id names one package.
#[tokio::test]
async fn a_deposit_can_be_repeated_under_its_id() {
    let (_server, [alice]) = Server::with(["@nick.alice"]).await;
    let package = json!({"title": "C", "content_md": "The letter", "package_id": "pkg_c", "tags": ["a"]});
    let first = done(&alice, "deposit", package.clone()).await;
    assert_eq!(done(&alice, "deposit", package.clone()).await, first);
    for (name, other) in [("title", json!("D")), ("tags", json!(null)), ("handoff_note", json!("Go on"))] {
        let mut other_package = package.clone();
        other_package[name] = other;
        assert_eq!(refused(&alice, "deposit", other_package).await, "duplicate_package_id", "{name}");
    }
    let found = done(&alice, "recall", json!({"query": "C D"})).await;
    assert_eq!(found["packages"][0]["package_id"], "pkg_c", "a word may have one letter: {found}");
    assert_eq!(refused(&alice, "recall", json!({"query": "C"})).await, "invalid_arguments");
}

/// A claim is released when the message was sent, and not by a handover that is refused.
#[tokio::test]
async fn a_refused_handover_leaves_the_claim_in_place() {
    let (_server, [alice]) = Server::with(["@nick.alice"]).await;
    done(&alice, "lock", json!({"resource": "src/a.rs"})).await;
    for (to, package, code) in [
        ("@nick.alice", None, "invalid_arguments"),
        ("@acme.nobody", None, "not_found"),
        ("@acme.nobody", Some("pkg_none"), "package_not_found"),
    ] {
        let over = json!({"to": to, "note": "Go on", "resource": "src/a.rs", "package_id": package});
        assert_eq!(refused(&alice, "hand_over", over).await, code, "{to} {package:?}");
    }
    let claims = done(&alice, "lock", json!({})).await;
    assert_eq!(claims["claims"].as_array().map(Vec::len), Some(1), "{claims}");
}

/// An agent that is only invited to a group does not see the others of it, and a message to one of them is not for all.
#[tokio::test]
async fn a_message_to_one_agent_does_not_go_into_a_group() {
    let (_server, [alice, bob, carol]) = Server::with(["@nick.alice", "@nick.bob", "@nick.carol"]).await;
    let group = json!({"to": ["@nick.bob", "@nick.carol"], "text": "group"});
    let group = done(&alice, "send", group).await["session_id"].clone();
    let sent = done(&bob, "send", json!({"to": ["@nick.alice"], "text": "for alice"})).await;
    assert_ne!(sent["session_id"], group);
    assert!(!done(&carol, "read", json!({"session_id": group})).await.to_string().contains("for alice"));
    let pair =
        done(&alice, "send", json!({"to": ["@nick.carol"], "text": "two"})).await["session_id"].clone();
    let back = done(&carol, "send", json!({"to": ["@nick.alice"], "text": "back"})).await;
    assert_eq!(back["session_id"], pair, "the session of exactly these");
}

/// A result in several parts is one result, also when something is posted between them.
#[tokio::test]
async fn the_parts_of_a_large_event_fit_together() {
    let (_server, [alice]) = Server::with(["@nick.alice"]).await;
    let made = done(&alice, "channel", json!({"action": "create", "title": "Build"})).await;
    let id = made["id"].as_str().or(made["channel"]["id"].as_str()).expect("an id").to_owned();
    let large: String = (0..3_000).map(|n| format!("{n} ")).collect();
    let post = |text: &str| json!({"action": "post", "id": id, "text": text});
    done(&alice, "channel", post(&large)).await;
    let (mut whole, mut next) = (String::new(), json!({"action": "read", "id": id}));
    while !next.is_null() {
        let part = done(&alice, "channel", next).await;
        whole.push_str(part["part"].as_str().expect("a part"));
        next = part["next"].clone();
        done(&alice, "channel", post("between")).await;
    }
    let whole: Value = serde_json::from_str(&whole).expect("the parts are one value");
    assert_eq!(whole["events"][0]["payload"]["text"], large);
}

/// The state of bob's message for alice.
async fn state(bob: &Agent, session: &Value, sequence: &Value) -> Value {
    let id = session.as_str().expect("a session");
    let status = bob.get(&format!("/sessions/{id}/messages/{sequence}/status")).await.ok(200);
    status["recipients"][0]["state"].clone()
}

/// An answer that is too long for a result is not in context until it was read to its end.
#[tokio::test]
async fn a_long_answer_is_in_context_once_it_is_read_to_its_end() {
    let (_server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let long: String = (0..4_000).map(|n| format!("w{n} ")).collect();
    let answering = async {
        let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
        let session = waiting["items"][0]["ref"]["session_id"].clone();
        done(&bob, "send", json!({"session_id": session, "text": long})).await
    };
    let question = json!({"to": ["@nick.bob"], "text": "What is in it?", "timeout_s": 20});
    let (asked, sent) = tokio::join!(done(&alice, "ask", question), answering);
    let answer = &asked["answers"][0];
    let text = answer["text"].as_str().expect("a text");
    assert!(long.starts_with(text) && text.len() < long.len(), "{answer}");
    assert_eq!((&answer["truncated"], &answer["characters"]), (&json!(true), &json!(long.len())));
    let (session, sequence) = (&sent["session_id"], &sent["sequence"]);
    assert_eq!(state(&bob, session, sequence).await, "accepted");
    let (mut whole, mut next) = (String::new(), answer["next"].clone());
    assert_eq!(next.as_object_mut().expect("arguments").remove("tool"), Some(json!("read")));
    while !next.is_null() {
        assert_eq!(state(&bob, session, sequence).await, "accepted", "{next}");
        let part = done(&alice, "read", next).await;
        whole.push_str(part["part"].as_str().expect("a part"));
        next = part["next"].clone();
    }
    assert_eq!(state(&bob, session, sequence).await, "in_context");
    let whole: Value = serde_json::from_str(&whole).expect("the parts are one value");
    assert_eq!(whole["events"][0]["text"], long);
}

/// Two questions in one session at the same time: each message answers one of them.
#[tokio::test]
async fn questions_at_the_same_time_get_different_answers() {
    let (_server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let first = done(&alice, "send", json!({"to": ["@nick.bob"], "text": "Hello"})).await;
    let session = first["session_id"].clone();
    done(&bob, "read", json!({"session_id": session})).await;
    let ask = |text: &str| json!({"to": ["@nick.bob"], "text": text, "timeout_s": 20});
    let look = async || {
        let read = done(&bob, "read", json!({"session_id": session})).await;
        let heard: Vec<String> = texts(&read).iter().map(|text| (*text).to_owned()).collect();
        (heard.len() == 3).then(|| heard[1..].to_vec())
    };
    let answering = async {
        let asked = eventually("both questions arrive", look).await;
        for question in &asked {
            done(&bob, "send", json!({"session_id": session, "text": format!("to {question}")})).await;
        }
    };
    let (color, number, ()) = tokio::join!(
        done(&alice, "ask", ask("Which color?")),
        done(&alice, "ask", ask("How many?")),
        answering
    );
    assert_eq!(color["answers"][0]["text"], "to Which color?");
    assert_eq!(number["answers"][0]["text"], "to How many?");
}

#[tokio::test]
async fn recall_says_that_more_was_said() {
    let (server, [alice]) = Server::with(["@nick.alice"]).await;
    server.agent("@nick.bob").await;
    let said = async |count: usize| {
        for nth in 0..count {
            done(&alice, "send", json!({"to": ["@nick.bob"], "text": format!("quokka report {nth}")})).await;
        }
    };
    let recalled = async |found: usize| {
        let look = async || Some(done(&alice, "recall", json!({"query": "quokka"})).await);
        eventually("it is indexed", async || {
            look().await.filter(|shown| shown["said"].as_array().map(Vec::len) == Some(found))
        })
        .await
    };
    said(2).await;
    assert!(recalled(2).await["more"].is_null());
    said(10).await;
    let more = async || (recalled(8).await["more"] == true).then_some(());
    eventually("more is indexed", more).await;
}

/// The sessions and sequences of answers of `send`.
fn places(sent: &[Value]) -> (Vec<String>, Vec<u64>) {
    let mut sessions: Vec<String> = sent.iter().map(|sent| sent["session_id"].to_string()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    (sessions, sent.iter().filter_map(|sent| sent["sequence"].as_u64()).collect())
}

#[tokio::test]
async fn parallel_first_messages_create_one_session() {
    let (_server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let mut earlier = String::new();
    // With one text, with several, and after the session has ended.
    for (topic, same) in [(Some("Build"), true), (Some("Test"), false), (None, false), (Some("Build"), true)]
    {
        let send = |n: usize| {
            let text = if same { "Hello".to_owned() } else { format!("Hello {n}") };
            let mut arguments = json!({"to": ["@nick.bob"], "text": text});
            if let Some(topic) = topic {
                arguments["topic"] = topic.into();
            }
            let alice = &alice;
            async move { done(alice, "send", arguments).await }
        };
        let sent = futures_util::future::join_all((0..12).map(send)).await;
        let (sessions, mut sequences) = places(&sent);
        assert_eq!(sessions.len(), 1, "{topic:?}: {sent:?}");
        sequences.sort_unstable();
        sequences.dedup();
        assert_eq!(sequences.len(), 12, "every message has its own sequence: {sent:?}");
        let id = sent[0]["session_id"].as_str().expect("a session").to_owned();
        let events = bob.get(&format!("/sessions/{id}")).await.ok(200);
        assert_eq!(events["state"], "active");
        assert_ne!(id, earlier, "an ended session takes no message");
        alice.call("POST", &format!("/sessions/{id}/end"), &[], None).await.ok(200);
        earlier = id;
    }
}

#[tokio::test]
async fn parallel_first_messages_of_the_command_line_create_one_session() {
    let server = Server::start().await;
    let alice = blackbox::Cli::of(&server, &server.agent("@nick.alice").await, "s-1");
    server.agent("@nick.bob").await;
    let line = ["send", "@nick.bob", "Hello", "--topic", "Build", "--json"];
    let sent = futures_util::future::join_all((0..8).map(|_| alice.run_ok(&line))).await;
    let sent: Vec<Value> = sent.iter().map(|out| serde_json::from_str(out).expect("JSON")).collect();
    let (sessions, mut sequences) = places(&sent);
    sequences.sort_unstable();
    sequences.dedup();
    assert_eq!((sessions.len(), sequences.len()), (1, 8), "{sent:?}");
}

#[tokio::test]
async fn a_denial_by_the_callers_own_allowlist_says_so() {
    let server = Server::start().await;
    let (lea, _) = (server.closed_agent("@lea.parser", &["@lea.*"]).await, server.agent("@nick.bob").await);
    let denied = async |to: &str| {
        let told = called(&lea, "send", json!({"to": [to], "text": "Hi"})).await.to_string();
        assert!(told.contains("not_found"), "{told}");
        told.replace(to, "X")
    };
    let there = denied("@nick.bob").await;
    assert!(there.contains("your own allowlist, which your owner sets, does not name X"), "{there}");
    assert_eq!(there, denied("@nick.nobody").await);
    assert!(!denied("@lea.nobody").await.contains("does not name"));
}

/// A URL of another server is not taken for the local channel of the same id.
#[tokio::test]
async fn the_url_of_a_channel_names_its_server() {
    let (server, [alice]) = Server::with(["@nick.alice"]).await;
    let made = alice.post("/agent-channel", json!({"title": "Build"})).await.ok(200);
    let id = made["id"].as_str().expect("an id");
    let foreign = format!("http://evil.example/agent-channel/{id}");
    for arguments in [
        json!({"action": "read", "id": foreign}),
        json!({"action": "post", "id": foreign, "text": "for another server"}),
    ] {
        assert_eq!(refused(&alice, "channel", arguments).await, "invalid_arguments");
    }
    assert_eq!(
        alice.get(&format!("/agent-channel/{id}/events")).await.ok(200),
        json!([]),
        "nothing was posted"
    );
    let port = server.address().get().to_string();
    let port = port.rsplit(':').next().expect("a port").to_owned();
    let named = [
        made["url"].as_str().expect("a URL").to_owned(),
        format!("http://localhost:{port}/agent-channel/{id}"),
    ];
    for url in named {
        let read = done(&alice, "channel", json!({"action": "read", "id": url})).await;
        assert_eq!(read["id"], id);
        done(&alice, "channel", json!({"action": "post", "id": url, "text": "here"})).await;
    }
}

/// The token of an owner or the operator is valid; it only may not speak as an agent.
#[tokio::test]
async fn a_token_that_is_not_an_agents_is_told_what_is_missing() {
    let server = Server::start().await;
    let refused = called(&server.operator(), "deposit", json!({"title": "x", "project_id": "p"})).await;
    let text = refused["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("invalid_authorization") && text.contains("needs an agent's token"), "{refused}");
}
