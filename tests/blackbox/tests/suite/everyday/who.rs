//! Who is there, and one session of a coding agent addressed by name.

use blackbox::{Agent, Cli, Server};
use serde_json::{Value, json};

async fn moment(agent: &Agent, session: &str, event: &str) {
    let body = json!({"session": session, "client": "claude", "event": event});
    agent.post("/inbox/session", body).await.ok(200);
}

async fn who(agent: &Agent, handle: &str) -> Value {
    let page = agent.get("/who").await.ok(200);
    let agents = page["agents"].as_array().expect("agents");
    agents.iter().find(|known| known["handle"] == handle).cloned().unwrap_or_default()
}

async fn texts(agent: &Agent, coding: &str) -> Vec<Value> {
    let page = agent.get(&format!("/inbox?coding_session={coding}&kinds=session.message")).await.ok(200);
    page["items"].as_array().expect("items").iter().map(|item| item["text"].clone()).collect()
}

#[tokio::test]
async fn what_ones_own_agents_do_is_seen_whole_and_others_in_a_word() {
    let (server, [one, two, other]) = Server::with(["@nick.one", "@nick.two", "@acme.support"]).await;
    server.closed_agent("@acme.secret", &[]).await;
    for (session, event) in
        [("s-1", "prompt"), ("s-2", "prompt"), ("s-2", "stop"), ("s-3", "start"), ("s-3", "end")]
    {
        moment(&two, session, event).await;
    }
    let page = one.get("/who").await.ok(200);
    let handles: Vec<&Value> =
        page["agents"].as_array().expect("agents").iter().map(|a| &a["handle"]).collect();
    assert_eq!(
        handles,
        ["@nick.one", "@acme.support", "@nick.two"],
        "oneself first, and nobody out of reach"
    );
    let seen = who(&one, "@nick.two").await;
    assert_eq!(
        (&seen["state"], &seen["unread"], &seen["trust"]),
        (&"working".into(), &0.into(), &"same_owner".into())
    );
    let states: Vec<_> = seen["sessions"].as_array().expect("sessions").iter().map(|s| &s["state"]).collect();
    assert_eq!(states.len(), 2, "{seen}");
    assert!(states.contains(&&json!("idle")) && states.contains(&&json!("working")), "{seen}");
    let ask = json!({"kind": "question", "title": "May I?"});
    let request = two.post("/requests", ask).await.ok(201)["request_id"].as_str().expect("an id").to_owned();
    let seen = who(&one, "@nick.two").await;
    assert_eq!(seen["state"], "waiting", "{seen}");
    assert!(seen["sessions"].as_array().expect("sessions").iter().any(|s| s["state"] == "waiting"), "{seen}");
    two.call("DELETE", &format!("/requests/{request}"), &[], None).await;
    assert_eq!(who(&one, "@nick.two").await["state"], "working");
    assert_eq!(who(&one, "@acme.support").await["state"], "gone");
    let seen = who(&other, "@nick.two").await;
    assert_eq!(
        (&seen["state"], &seen["unread"], &seen["sessions"]),
        (&"working".into(), &Value::Null, &Value::Null)
    );
    let found = one.get("/who?query=two").await.ok(200);
    assert_eq!(found["agents"].as_array().map(Vec::len), Some(1), "who looks for others is not among them");
    one.get("/who?limit=0").await.assert_refused(400, "invalid_limit");
}

#[tokio::test]
async fn what_is_said_to_one_session_reaches_no_other() {
    let (server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let cli = Cli::of(&server, &one, "s-9");
    moment(&two, "4f1c-aa", "prompt").await;
    moment(&two, "9b2e-bb", "prompt").await;
    // The last that worked would get it.
    let sent = cli.run_ok(&["send", "@nick.two/4f1c", "You are on my branch", "--json"]).await;
    let sent: Value = serde_json::from_str(&sent).expect("JSON");
    let id = sent["session_id"].as_str().expect("an id");
    two.post_empty(&format!("/sessions/{id}/join")).await.ok(200);
    assert_eq!(texts(&two, "9b2e-bb").await, Vec::<Value>::new());
    assert_eq!(texts(&two, "4f1c-aa").await, ["You are on my branch"]);
    let again = cli.run_ok(&["send", "@nick.two/4f1c-aa", "Still", "--json"]).await;
    assert!(again.contains(id), "it is one session of the network: {again}");
    cli.run_ok(&["send", "@nick.two/9b2e", "Not you"]).await;
    assert_eq!(texts(&two, "4f1c-aa").await, ["You are on my branch", "Still"]);
    let table = cli.run_ok(&["who"]).await;
    assert!(table.contains("@nick.one (you)") && table.matches("(you)").count() == 1, "{table}");
    let table = cli.run_ok(&["who", "two"]).await;
    assert!(table.contains("/4f1c-aa (claude)") && table.contains("@nick.two"), "{table}");
    let none = cli.run(&["send", "@nick.two/77", "Hm"]).await;
    assert!(none.code == 2 && none.err.contains("plenary who"), "{none:?}");
}

#[tokio::test]
async fn sessions_that_are_called_alike_are_shown_as_far_as_they_differ() {
    let (server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let cli = Cli::of(&server, &one, "s-9");
    for session in ["01a20951-7c1e-aa", "01a20951-7c2f-bb", "01a20951-7c2f"] {
        moment(&two, session, "start").await;
    }
    assert_eq!(who(&one, "@nick.two").await["state"], "idle", "a session that begins has no turn");
    let table = cli.run_ok(&["who", "two"]).await;
    for row in ["/01a20951-7c1 (claude)", "/01a20951-7c2f- (claude)", "/01a20951-7c2f (claude)"] {
        assert!(table.contains(row), "{row}: {table}");
    }
    for name in ["01a20951-7c1", "01a20951-7c2f-", "01a20951-7c2f"] {
        cli.run_ok(&["send", &format!("@nick.two/{name}"), "To you"]).await;
    }
    let none = cli.run(&["who", "zzz"]).await;
    assert!(none.code == 0 && none.err.contains("no agent that you can contact has `zzz`"), "{none:?}");
    let none = cli.run(&["attention", "dnd", "--session", "zzz"]).await;
    assert!(none.code == 2 && none.err.contains("no live session begins with `zzz`"), "{none:?}");
    moment(&two, "01a20951-7c2f", "prompt").await;
    assert_eq!(who(&one, "@nick.two").await["state"], "working");
    moment(&two, "01a20951-7c2f", "stop").await;
    assert_eq!(who(&one, "@nick.two").await["state"], "idle", "its turn has ended");
}

#[tokio::test]
async fn only_a_live_session_of_a_sibling_that_takes_part_is_addressed() {
    let (_server, [one, two, other]) = Server::with(["@nick.one", "@nick.two", "@acme.support"]).await;
    let id = blackbox::room(&[&one, &two, &other]).await;
    let apart = blackbox::room(&[&one, &other]).await;
    let address = |agent: &str, session: &str, id: &str| json!({"agent": agent, "coding_session": session, "session_id": id});
    moment(&two, "s-1", "prompt").await;
    moment(&other, "s-1", "prompt").await;
    one.post("/inbox/address", address("@nick.two", "s-1", &id)).await.ok(200);
    for (agent, id) in [("@acme.support", &id), ("@nick.two", &apart), ("@nick.nobody", &id)] {
        one.post("/inbox/address", address(agent, "s-1", id)).await.assert_refused(404, "not_found");
    }
    other.post("/inbox/address", address("@nick.two", "s-1", &id)).await.assert_refused(404, "not_found");
    one.post("/inbox/address", address("@nick.two", "s-2", &id))
        .await
        .assert_refused(409, "session_not_live");
    moment(&two, "s-1", "end").await;
    one.post("/inbox/address", address("@nick.two", "s-1", &id))
        .await
        .assert_refused(409, "session_not_live");
    one.post("/inbox/address", json!({"agent": "@nick.two"})).await.assert_refused(400, "invalid_body");
}

#[tokio::test]
async fn what_is_for_the_agent_does_not_go_to_the_session_that_was_addressed_before() {
    let (server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let cli = Cli::of(&server, &one, "s-0");
    for session in ["idle", "busy"] {
        moment(&two, session, "start").await;
    }
    let apart: Value =
        serde_json::from_str(&cli.run_ok(&["send", "@nick.two/idle", "for one", "--json"]).await)
            .expect("JSON");
    let sent: Value =
        serde_json::from_str(&cli.run_ok(&["send", "@nick.two", "for any", "--json"]).await).expect("JSON");
    assert_ne!(sent["session_id"], apart["session_id"]);
    moment(&two, "busy", "prompt").await;
    let inbox = two.get("/inbox?coding_session=busy").await.ok(200);
    let shown = |id: &Value| {
        inbox["items"].as_array().expect("items").iter().any(|item| item["ref"]["session_id"] == *id)
    };
    assert!(shown(&sent["session_id"]) && !shown(&apart["session_id"]), "{inbox}");
}
