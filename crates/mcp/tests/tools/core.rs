//! Two agents with nothing but the tools of the daily work.

use std::sync::atomic::Ordering;

use plenary_mcp::tool::CallOutcome;
use serde_json::{Value, json};

use crate::house::House;

fn texts(read: &Value) -> Vec<&str> {
    read["events"].as_array().unwrap().iter().filter_map(|event| event["text"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn who_asks_is_woken_by_the_answer_and_does_not_poll() {
    let house = House::new().await;
    let (alice, bob, carol) =
        (house.agent("@nick.alice").await, house.agent("@nick.bob").await, house.agent("@nick.carol").await);
    let requests = || house.requests.load(Ordering::SeqCst);
    let unanswered =
        alice.call("ask", json!({"to": ["@nick.bob"], "text": "Ready?", "timeout_s": 110})).await;
    assert_eq!(unanswered["timed_out"], true);
    assert!(requests() < 16, "{} requests for two waits", requests());

    let answering = async {
        for text in ["One", "Two", "Three"] {
            carol.call("send", json!({"to": ["@nick.alice"], "text": text})).await;
        }
        let waiting = bob.call("inbox", json!({"wait_s": 60})).await;
        let session = &waiting["items"][0]["ref"]["session_id"];
        // The answer is new to whoever waits for it, also where somebody has read it.
        bob.call("send", json!({"session_id": session, "text": "Yes"})).await;
        alice.call("read", json!({"session_id": session})).await;
    };
    let before = requests();
    let question = json!({"to": ["@nick.bob"], "text": "Still?", "timeout_s": 110});
    let (result, ()) = tokio::join!(alice.call("ask", question), answering);
    assert_eq!((&result["answers"][0]["text"], &result["timed_out"]), (&json!("Yes"), &json!(false)));
    assert!(requests() - before < 60, "{} requests", requests() - before);
}

#[tokio::test]
async fn two_agents_discover_each_other_converse_lock_hand_over_deposit_and_recall() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let me = alice.call("whoami", json!({})).await;
    assert_eq!(me["me"], "@nick.alice");
    assert_eq!(me["agents"], json!([{"handle": "@nick.bob", "trust": "same_owner"}]));
    assert_eq!(me["run_agents"], json!(["echo"]));

    let sent = alice.call("send", json!({"to": ["@nick.bob"], "text": "Hello", "topic": "Build"})).await;
    let session = sent["session_id"].as_str().unwrap();
    let waiting = bob.call("inbox", json!({"wait_s": 5})).await;
    assert_eq!(waiting["items"][0]["ref"]["session_id"], session);
    let read = bob.call("read", json!({"session_id": session})).await;
    assert_eq!((texts(&read), &read["topic"]), (vec!["Hello"], &json!("Build")));
    let answer = bob.call("send", json!({"to": ["@nick.alice"], "text": "Hi"})).await;
    assert_eq!(answer["session_id"], session, "the session that they share");
    assert_eq!(texts(&alice.call("read", json!({"session_id": session})).await), ["Hello", "Hi"]);

    let lock = alice.call("lock", json!({"resource": "src/a.rs", "intent": "rewrite"})).await;
    assert!(lock["lease_id"].is_string());
    assert_eq!(bob.refused("lock", json!({"resource": "src/a.rs"})).await, "resource_claimed");
    assert_eq!(
        bob.refused("hand_over", json!({"to": "@nick.alice", "note": "x", "resource": "src/a.rs"})).await,
        "resource_claimed"
    );
    assert_eq!(
        bob.refused("lock", json!({"resource": "src/a.rs", "release": true})).await,
        "resource_claimed",
        "only who claimed it releases it"
    );
    let over = alice
        .call("hand_over", json!({"to": "@nick.bob", "note": "Half done", "resource": "src/a.rs"}))
        .await;
    assert_eq!((&over["released"], &over["session_id"]), (&json!(1), &json!(session)));
    let read = bob.call("read", json!({"session_id": session, "after_sequence": answer["sequence"]})).await;
    let summary = read["events"].as_array().unwrap().last().unwrap();
    assert_eq!(summary["text"], "Handover: Half done");
    assert_eq!(summary["parts"][0]["data"]["handover"]["resource"], "src/a.rs");
    bob.call("lock", json!({"resource": "src/a.rs"})).await;
    let waiting = bob.call("inbox", json!({})).await;
    let items = waiting["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["text"].as_str().unwrap().contains("Half done")), "{waiting}");
    let empty = bob.call("inbox", json!({"ack": waiting["cursor"]})).await;
    assert_eq!((&empty["items"], &empty["unread"]), (&json!([]), &json!(0)));
    let claims = alice.call("lock", json!({})).await;
    assert_eq!(claims["claims"][0]["by"], "@nick.bob");

    let deposit =
        bob.call("deposit", json!({"title": "Use SQLite", "decisions_made": ["SQLite holds the log"]})).await;
    let found = alice.call("recall", json!({"query": "sqlite"})).await;
    assert_eq!(found["packages"][0]["package_id"], deposit["package_id"]);
    let whole = alice.call("recall", json!({"package_id": deposit["package_id"]})).await;
    assert_eq!(whole["decisions_made"], json!(["SQLite holds the log"]));
    alice.call("note_fact", json!({"subject": "log", "predicate": "stored in", "value": "SQLite"})).await;
    let found = bob.call("recall", json!({"query": "stored"})).await;
    assert_eq!(found["facts"][0]["value"], "SQLite");
    let found = bob.call("recall", json!({"query": "half done"})).await;
    let hits = found["said"].as_array().unwrap();
    assert!(hits.iter().any(|hit| hit["session_id"] == session && hit["by"] == "@nick.alice"), "{found}");
    let found =
        bob.call("recall", json!({"query": "sqlite", "who": "@nick.bob", "since": "2020-01-01"})).await;
    assert_eq!(found["said"][0]["package_id"], deposit["package_id"]);
    assert!(found.get("packages").is_none(), "{found}");
    assert_eq!(bob.refused("recall", json!({"query": "sqlite", "who": "bob"})).await, "invalid_handle");
    let project = json!({"query": "sqlite", "who": "@nick.bob", "project_id": "p"});
    assert_eq!(bob.refused("recall", project).await, "invalid_arguments");
    let ended = bob.call("note_fact", json!({"subject": "log", "predicate": "stored in", "end": true})).await;
    assert_eq!(ended["invalidated"], 1);
}

#[tokio::test]
async fn facts_show_what_they_contradict_and_what_they_replace() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let deposit = bob.call("deposit", json!({"title": "Use SQLite"})).await;
    alice.call("note_fact", json!({"subject": "log", "predicate": "stored in", "value": "SQLite"})).await;
    let fact =
        |value: &str| json!({"subject": "log", "predicate": "stored in", "value": value, "propose": true});
    let proposed = bob.call("note_fact", fact("PostgreSQL")).await;
    assert_eq!(
        (&proposed["contradicts"]["value"], &proposed["contradicts"]["by"]),
        (&json!("SQLite"), &json!("@nick.alice"))
    );
    let package = alice.call("recall", json!({"package_id": proposed["package_id"]})).await;
    assert_eq!(
        (&package["status"], &package["tags"]),
        (&json!("awaiting_review"), &json!(["proposed-fact"]))
    );
    assert_eq!(
        (&package["x-fact"]["value"], &package["x-contradicts"]["value"]),
        (&json!("PostgreSQL"), &json!("SQLite"))
    );
    let mut same = fact("SQLite");
    same["source_package_id"] = deposit["package_id"].clone();
    assert!(bob.call("note_fact", same).await.get("contradicts").is_none(), "it says the same");
    let noted = json!({"subject": "log", "predicate": "kept", "value": "a year", "source_package_id": deposit["package_id"]});
    assert!(alice.call("note_fact", noted).await.get("replaced").is_none(), "nothing was known");
    let noted = json!({"subject": "log", "predicate": "kept", "value": "a month"});
    let replaced = bob.call("note_fact", noted).await["replaced"].clone();
    assert_eq!(
        (&replaced["value"], &replaced["source_package_id"]),
        (&json!("a year"), &deposit["package_id"])
    );
}

#[tokio::test]
async fn a_question_collects_answers_until_its_deadline_and_never_waits_in_a_circle() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    house.agent("@nick.carol").await;
    let question =
        alice.call("ask", json!({"to": ["@nick.bob", "@nick.carol"], "text": "Ready?", "timeout_s": 2}));
    let answering = async {
        let waiting = bob.call("inbox", json!({"wait_s": 10})).await;
        let session = &waiting["items"][0]["ref"]["session_id"];
        let back = json!({"to": ["@nick.alice"], "text": "?", "timeout_s": 0});
        assert_eq!(bob.refused("ask", back).await, "would_deadlock");
        bob.call("send", json!({"session_id": session, "text": "Yes"})).await
    };
    let (result, _) = tokio::join!(question, answering);
    assert_eq!(result["answers"][0]["from"], "@nick.bob");
    assert_eq!(result["answers"][0]["text"], "Yes");
    assert_eq!((&result["unanswered"], &result["timed_out"]), (&json!(["@nick.carol"]), &json!(true)));
}

#[tokio::test]
async fn one_handle_and_a_list_of_one_are_the_same() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let sent = alice.call("send", json!({"to": "@nick.bob", "text": "Hello"})).await;
    let over = alice.call("hand_over", json!({"to": ["@nick.bob"], "note": "Half done"})).await;
    assert_eq!(over["session_id"], sent["session_id"]);
    let listed = bob.call("read", json!({})).await;
    assert_eq!(
        listed["sessions"],
        json!([{
            "session_id": sent["session_id"], "state": "active", "topic": "Hello",
            "with": ["@nick.alice"], "you": "invited",
        }])
    );
    let read = bob.call("read", json!({"session_id": sent["session_id"]})).await;
    assert!(read["events"][0]["at"].as_str().unwrap().ends_with('Z'), "{read}");
}

#[tokio::test]
async fn a_wait_that_is_too_long_says_how_long_one_may_be() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    house.agent("@nick.bob").await;
    for (tool, arguments, text) in [
        ("inbox", json!({"wait_s": 600}), "`wait_s` is at most 60"),
        ("ask", json!({"to": "@nick.bob", "text": "?", "timeout_s": 600}), "`timeout_s` is at most 110"),
        ("run_agent", json!({"agent": "echo", "input": "?", "wait_s": 600}), "`wait_s` is at most 110"),
    ] {
        let CallOutcome::Refused { code, message } = alice.called(tool, &arguments).await else {
            panic!("{tool}")
        };
        assert!(code == "invalid_arguments" && message.contains(text), "{tool}: {message}");
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_with_what_to_do() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    house.agent("@nick.bob").await;
    let large = json!({"to": "@nick.bob", "text": "x".repeat(2 << 20)});
    let CallOutcome::Refused { code, message } = alice.called("send", &large).await else {
        panic!("too large")
    };
    assert!(code == "body_too_large" && message.contains("Send it in parts"), "{message}");
}

#[tokio::test]
async fn a_retry_with_its_key_says_it_once() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let arguments = json!({"to": ["@nick.bob"], "text": "Once", "idempotency_key": "k"});
    let first = alice.call("send", arguments.clone()).await;
    assert_eq!(alice.call("send", arguments).await, first);
    let read = bob.call("read", json!({"session_id": first["session_id"]})).await;
    assert_eq!((texts(&read), &read["topic"]), (vec!["Once"], &json!("Once")));
}

#[tokio::test]
async fn whoever_is_invited_sees_how_the_message_begins() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    alice
        .call("send", json!({"to": ["@nick.bob"], "text": format!("\n Where is\n{}", "x".repeat(99))}))
        .await;
    let waiting = bob.call("inbox", json!({})).await;
    assert_eq!(waiting["items"][0]["subject"], "Where is");
    house.agent("@nick.carol").await;
    alice.call("send", json!({"to": ["@nick.carol"], "text": "x".repeat(99)})).await;
    let sessions = alice.call("session_list", json!({})).await;
    assert!(sessions.to_string().contains(&format!("\"{}…\"", "x".repeat(80))), "{sessions}");
}

#[tokio::test]
async fn agents_of_the_server_run_and_channels_carry_what_is_posted() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    assert_eq!(alice.call("run_agent", json!({})).await, json!({"agents": ["echo"]}));
    let run = alice.call("run_agent", json!({"agent": "echo", "input": "Say it"})).await;
    assert_eq!((&run["status"], &run["result"]), (&json!("completed"), &json!("Say it")));
    let again = alice.call("run_agent", json!({"agent": "echo", "run_id": run["run_id"]})).await;
    assert_eq!(again["result"], "Say it");

    let channel = alice.call("channel", json!({"action": "create", "title": "Release"})).await;
    let id = channel["id"].as_str().unwrap();
    let first = alice.call("channel", json!({"action": "post", "id": id, "text": "one"})).await;
    alice.call("channel", json!({"action": "post", "id": id, "kind": "status", "payload": {"agent": "a", "phase": "ready"}})).await;
    let read = alice.call("channel", json!({"action": "read", "id": id})).await;
    assert_eq!((&read["title"], &read["events"][1]["payload"]["text"]), (&json!("Release"), &json!("one")));
    let later = alice.call("channel", json!({"action": "read", "id": id, "after_id": first["id"]})).await;
    assert_eq!(later["events"][0]["kind"], "status");
    assert_eq!(alice.call("channel", json!({"action": "list"})).await["channels"][0]["id"], id);
    assert_eq!(alice.refused("channel", json!({"action": "read"})).await, "invalid_arguments");
    assert_eq!(alice.refused("channel", json!({"action": "read", "id": "ZZZZ"})).await, "no_such_channel");
    assert_eq!(
        alice.refused("channel", json!({"action": "create", "title": " "})).await,
        "invalid_arguments"
    );
    // Some models fill in every argument.
    let filled = json!({"action": "list", "id": "", "title": "", "text": "", "kind": "", "payload": {}, "after_id": 0});
    assert_eq!(alice.call("channel", filled).await["channels"][0]["id"], id);
    let filled = json!({"agent": "echo", "input": "x", "answer": {}, "cancel": false});
    assert_eq!(alice.call("run_agent", filled).await["result"], "x");
    let link = channel["url"].as_str().unwrap();
    assert_eq!(alice.call("channel", json!({"action": "read", "id": link})).await["title"], "Release");
}

#[tokio::test]
async fn what_does_not_fit_is_said_so_that_the_call_can_be_mended() {
    let house = House::new().await;
    let (alice, _bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    for (tool, arguments, text) in [
        ("send", json!({"to": 5}), "`text` is missing; `to` must be a list, each of it a text"),
        (
            "send",
            json!({"to": ["@nick.bob"], "text": "x", "zap": 1}),
            "there is no argument `zap`; the arguments are",
        ),
        ("send", json!({"to": ["@nick.alice"], "text": "x"}), "You are @nick.alice"),
        (
            "send",
            json!({"to": ["@nick.nobody"], "text": "x"}),
            "whoami lists the agents that you can contact",
        ),
        ("read", json!({"session_id": "sess_none"}), "You do not participate in such a session"),
        ("inbox", json!({"limit": "5"}), "`limit` must be a whole number"),
        ("lock", json!({"release": true}), "`resource` is missing"),
        ("lock", json!({"resource": "a", "ttl_s": 0}), "`ttl_s` must be at least 1"),
        ("channel", json!({"action": "zap"}), "`action` must be one of"),
        ("run_agent", json!({"run_id": "x"}), "`agent` is missing"),
        ("run_agent", json!({"agent": "nobody", "input": "x"}), "run_agent without `agent` lists them"),
        ("run_agent", json!({"agent": "echo", "input": "x", "cancel": true}), "for an existing run"),
        ("run_agent", json!({"agent": "echo", "input": "x", "answer": {"a": 1}}), "for an existing run"),
        (
            "run_agent",
            json!({"agent": "echo", "run_id": "x", "answer": {"a": 1}, "cancel": true}),
            "exclude each other",
        ),
        ("run_agent", json!({"answer": {"a": 1}}), "`agent` is missing"),
        (
            "channel",
            json!({"action": "create", "title": "C", "payload": {"mission": "M"}}),
            "`create` takes `title`; leave out `payload`",
        ),
        ("channel", json!({"action": "list", "id": "VHGC"}), "`list` takes nothing; leave out `id`"),
        (
            "channel",
            json!({"action": "read", "id": "VHGC", "text": "x"}),
            "`read` takes `id`, `kind`, `after_id`; leave out `text`",
        ),
        ("recall", json!({"query": "x".repeat(1001)}), "`query` must be a text of 2 to 1000 characters"),
        ("agent_send", json!({"kind": "agent_advisory"}), "`payload` is missing"),
    ] {
        let CallOutcome::Refused { message, .. } = alice.called(tool, &arguments).await else {
            panic!("{tool} took {arguments}")
        };
        assert!(message.contains(text), "{tool} {arguments}: {message}");
    }
}

#[tokio::test]
async fn a_first_message_stands_before_the_invitation() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let sent = alice.call("send", json!({"to": ["@nick.bob"], "text": "Hello"})).await;
    assert_eq!((&sent["sequence"], &sent["to"]), (&json!(1), &json!(["@nick.bob"])));
    let waiting = bob.call("inbox", json!({"wait_s": 5})).await;
    assert_eq!(
        (&waiting["items"][0]["ref"]["sequence"], &waiting["items"][0]["text"]),
        (&json!(1), &json!("Hello"))
    );
    let key = json!({"to": ["@nick.bob"], "text": "Once", "topic": "Keys", "idempotency_key": "k"});
    let once = alice.call("send", key.clone()).await;
    assert_eq!(alice.call("send", key).await, once, "a retry says nothing twice");
}
