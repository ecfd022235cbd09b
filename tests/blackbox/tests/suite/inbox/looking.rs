//! Looking is not seeing: which readers mark a message, and which leave every mark alone. One cell of the table in
//! docs/delivery.md each.

use blackbox::{Agent, Caller, Cli, Server, pair};
use serde_json::{Value, json};

use super::{ack, cursor, inbox, state, texts};
use crate::{mcp, mcp_tools};

/// A message that Alice sent Bob, who has looked at nothing yet.
struct Sent {
    server: Server,
    alice: Agent,
    bob: Agent,
    id: String,
    sequence: i64,
}

impl Sent {
    async fn new() -> Self {
        let server = Server::start().await;
        let (alice, bob, id) = pair(&server).await;
        let sequence = alice.say(&id, "hello").await;
        Self { server, alice, bob, id, sequence }
    }

    async fn state(&self) -> String {
        state(&self.alice, &self.id, self.sequence).await
    }

    /// Nothing was marked by what was just done.
    async fn is_untouched(&self, by: &str) {
        assert_eq!(self.state().await, "accepted", "{by}");
        assert_eq!(texts(&inbox(&self.bob, "").await), ["hello"], "{by}");
    }
}

#[tokio::test]
async fn a_plain_read_over_http_marks_nothing() {
    let sent = Sent::new().await;
    let id = &sent.id;
    for path in [
        "/sessions".to_owned(),
        format!("/sessions/{id}"),
        format!("/sessions/{id}/events"),
        format!("/sessions/{id}/events?after_sequence=0&limit=1000"),
        "/inbox".to_owned(),
        "/inbox?limit=100".to_owned(),
        "/inbox/wait?timeout_s=1".to_owned(),
        "/search/messages?q=hello".to_owned(),
    ] {
        sent.bob.get(&path).await.ok(200);
        sent.is_untouched(&path).await;
    }
}

#[tokio::test]
async fn a_resource_marks_nothing() {
    let sent = Sent::new().await;
    for uri in [
        "plenary://inbox".to_owned(),
        "plenary://sessions".to_owned(),
        format!("plenary://sessions/{}", sent.id),
        format!("plenary://sessions/{}/events", sent.id),
    ] {
        mcp::resource(&sent.bob, &uri).await;
        sent.is_untouched(&uri).await;
    }
}

#[tokio::test]
async fn a_person_at_the_command_line_marks_nothing() {
    let sent = Sent::new().await;
    let cli = Cli::of(&sent.server, &sent.bob, "s");
    for args in [
        vec!["session", "events", &sent.id],
        vec!["session", "events", &sent.id, "--json"],
        vec!["session", "show", &sent.id],
        vec!["session", "list"],
        vec!["inbox"],
        vec!["inbox", "--json"],
    ] {
        cli.run_ok(&args).await;
        sent.is_untouched(&args.join(" ")).await;
    }
}

#[tokio::test]
async fn the_tool_read_marks_what_it_shows() {
    let sent = Sent::new().await;
    let later = sent.alice.say(&sent.id, "later").await;
    let only = json!({"session_id": sent.id, "after_sequence": sent.sequence, "limit": 1});
    let shown = mcp_tools::done(&sent.bob, "read", only).await;
    assert_eq!(shown["events"][0]["text"], "later", "{shown}");
    assert_eq!(sent.state().await, "accepted", "what was left out");
    assert_eq!(state(&sent.alice, &sent.id, later).await, "in_context");
    assert_eq!(texts(&inbox(&sent.bob, "").await), ["hello"]);
    mcp_tools::done(&sent.bob, "read", json!({"session_id": sent.id})).await;
    assert_eq!(sent.state().await, "in_context");
    assert_eq!(inbox(&sent.bob, "").await["unread"], 0);
}

#[tokio::test]
async fn the_tool_inbox_marks_what_it_shows() {
    let sent = Sent::new().await;
    let later = sent.alice.say(&sent.id, "later").await;
    let first = mcp_tools::done(&sent.bob, "inbox", json!({"limit": 1})).await;
    assert_eq!(texts(&first), ["hello"]);
    assert_eq!(sent.state().await, "in_context");
    assert_eq!(state(&sent.alice, &sent.id, later).await, "accepted");
    let second = mcp_tools::done(&sent.bob, "inbox", json!({})).await;
    assert_eq!(texts(&second), ["later"], "once");
    let again = mcp_tools::done(&sent.bob, "inbox", json!({"after": first["cursor"]})).await;
    assert_eq!(texts(&again), ["later"], "behind a cursor it is there again");
}

/// A page that begins behind what was never shown claims nothing of it.
#[tokio::test]
async fn the_tool_inbox_claims_nothing_that_it_left_out() {
    let sent = Sent::new().await;
    let end = cursor(&inbox(&sent.bob, "").await);
    let later = sent.alice.say(&sent.id, "later").await;
    let page = mcp_tools::done(&sent.bob, "inbox", json!({"after": end})).await;
    assert_eq!(texts(&page), ["later"]);
    assert_eq!(sent.state().await, "accepted");
    assert_eq!(state(&sent.alice, &sent.id, later).await, "accepted", "no mark goes over a gap");
    assert_eq!(texts(&inbox(&sent.bob, "").await), ["hello", "later"]);
}

/// Two who ask each other: the answer that was given to the model is no news any more.
#[tokio::test]
async fn an_answer_that_ask_shows_is_seen() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let answering = async {
        let page = bob.get("/inbox/wait?timeout_s=20").await.ok(200);
        let id = page["items"][0]["ref"]["session_id"].as_str().expect("a session").to_owned();
        bob.join(&id).await;
        let sequence = bob.say(&id, "yes").await;
        (id, sequence)
    };
    let question = json!({"to": ["@bob.bot"], "text": "Ready?", "timeout_s": 60});
    let (asked, (id, sequence)) = tokio::join!(mcp_tools::done(&alice, "ask", question), answering);
    assert_eq!(asked["answers"][0]["text"], "yes", "{asked}");
    assert_eq!(state(&bob, &id, sequence).await, "in_context");
    assert_eq!(inbox(&alice, "").await["unread"], 0);
}

#[tokio::test]
async fn an_acknowledgement_says_how_far_it_goes() {
    let sent = Sent::new().await;
    let page = inbox(&sent.bob, "").await;
    for (word, become_of) in
        [("delivered", "delivered"), ("seen", "in_context"), ("acknowledged", "acknowledged")]
    {
        sent.bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": word})).await.ok(200);
        assert_eq!(sent.state().await, become_of);
    }
}

#[tokio::test]
async fn events_of_a_session_are_acknowledged_by_their_sequence() {
    let sent = Sent::new().await;
    let later = sent.alice.say(&sent.id, "later").await;
    let body = json!({"session_id": sent.id, "after_sequence": sent.sequence, "sequence": later});
    assert_eq!(sent.bob.post("/inbox/ack", body).await.ok(200)["unread"], 1);
    assert_eq!(sent.state().await, "accepted");
    assert_eq!(state(&sent.alice, &sent.id, later).await, "in_context");
    let whole = json!({"session_id": sent.id, "sequence": 1_000});
    assert_eq!(sent.bob.post("/inbox/ack", whole).await.ok(200)["unread"], 0);
    let beyond = sent.alice.say(&sent.id, "beyond").await;
    assert_eq!(state(&sent.alice, &sent.id, beyond).await, "accepted", "nothing is seen before it is there");
    let stranger = sent.server.agent("@carol.bot").await;
    for id in [sent.id.as_str(), "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        let body = json!({"session_id": id, "sequence": 1});
        stranger.post("/inbox/ack", body).await.assert_refused(404, "not_found");
    }
    let page = inbox(&sent.bob, "").await;
    for body in [
        json!({}),
        json!({"session_id": sent.id}),
        json!({"sequence": 3}),
        json!({"cursor": page["cursor"], "session_id": sent.id, "sequence": 3}),
        json!({"session_id": sent.id, "sequence": -1}),
    ] {
        sent.bob.post("/inbox/ack", body).await.assert_refused(400, "invalid_body");
    }
}

/// An owner that came with its agent.
async fn owner_of(server: &Server, owner: &str) -> Caller {
    let made = server.operator().post_empty(&format!("/_admin/owners/{owner}/rotate-token")).await.ok(200);
    server.bearer(made["token"].as_str().expect("a token"))
}

/// What an agent is shown, and nothing of it marked.
async fn same(owner: &Caller, agent: &Agent, path: &str) -> Value {
    let own = agent.get(path).await.ok(200);
    let looked = owner.get(&format!("/_admin/agents/{}{path}", agent.handle)).await.ok(200);
    assert_eq!(own, looked, "{path}");
    own
}

/// An age counts on while two ask.
fn ageless(mut page: Value) -> Value {
    for item in page["items"].as_array_mut().into_iter().flatten() {
        item["age_s"] = Value::Null;
    }
    page
}

#[tokio::test]
async fn an_owner_reads_what_its_agent_may_see_and_marks_nothing() {
    let sent = Sent::new().await;
    let owner = owner_of(&sent.server, "bob").await;
    let outside = sent.alice.create(&[]).await;
    let id = &sent.id;
    for caller in [owner.clone(), sent.server.operator()] {
        for path in
            ["/sessions".to_owned(), format!("/sessions/{id}"), format!("/sessions/{id}/events?limit=2")]
        {
            same(&caller, &sent.bob, &path).await;
            sent.is_untouched(&path).await;
        }
        let own = ageless(inbox(&sent.bob, "?limit=1").await);
        let looked = caller.get("/_admin/agents/@bob.bot/inbox?limit=1").await.ok(200);
        assert_eq!(own, ageless(looked));
        sent.is_untouched("/inbox").await;
        let at = |path: &str| format!("/_admin/agents/@bob.bot{path}");
        caller.get(&at(&format!("/sessions/{outside}"))).await.assert_refused(404, "not_found");
        caller.get(&at(&format!("/sessions/{outside}/events"))).await.assert_refused(404, "not_found");
        caller.get(&at("/sessions?limit=0")).await.assert_refused(400, "invalid_limit");
        caller
            .get(&at(&format!("/sessions/{id}/events?after_sequence=x")))
            .await
            .assert_refused(400, "invalid_after_sequence");
        caller.get(&at("/inbox?after=x")).await.assert_refused(400, "invalid_cursor");
        // The paths of the protocol are for agents alone (wire.md D.9).
        for path in ["/sessions".to_owned(), format!("/sessions/{id}/events"), "/inbox".to_owned()] {
            caller.get(&path).await.assert_refused(401, "invalid_authorization");
        }
    }
    let whole = json!({"cursor": inbox(&sent.bob, "").await["cursor"]});
    owner.post("/_admin/agents/@bob.bot/inbox/ack", whole).await.refusal_code(404);
    for nobody in [&*sent.alice, &*sent.bob, &sent.server.owner("carol").await] {
        nobody.get("/_admin/agents/@bob.bot/sessions").await.assert_refused(404, "not_found");
        nobody.get("/_admin/agents/@bob.bot/inbox").await.assert_refused(404, "not_found");
    }
}

/// Who has left sees its own part, and so does its owner.
#[tokio::test]
async fn an_owner_sees_no_more_than_an_agent_that_has_left() {
    let sent = Sent::new().await;
    let owner = owner_of(&sent.server, "bob").await;
    sent.bob.leave(&sent.id).await;
    sent.alice.say(&sent.id, "alone").await;
    let events = same(&owner, &sent.bob, &format!("/sessions/{}/events", sent.id)).await;
    assert!(!events.to_string().contains("alone"), "{events}");
    assert_eq!(ack(&sent.bob, &inbox(&sent.bob, "").await).await["unread"], 0);
}

/// The owner's command line, by the owner's own token.
#[tokio::test]
async fn an_owner_reads_at_the_command_line() {
    let sent = Sent::new().await;
    let owner = owner_of(&sent.server, "bob").await;
    let cli = Cli::new(&[("PLENARY_URL", &sent.server.url()), ("PLENARY_TOKEN", owner.token())]);
    let listed = cli.run_ok(&["agent", "sessions", "@bob.bot"]).await;
    assert!(listed.contains(&sent.id), "{listed}");
    let events = cli.run_ok(&["agent", "events", "@bob.bot", &sent.id]).await;
    assert!(events.contains("hello"), "{events}");
    assert!(cli.run_ok(&["agent", "inbox", "@bob.bot"]).await.contains("| hello"));
    sent.is_untouched("the owner").await;
}

/// One list has the sessions of all agents of an owner, each once and newest first, with those that see it; as the one that
/// sees most sees it.
#[tokio::test]
async fn the_sessions_of_all_agents_are_one_list() {
    let server = Server::start().await;
    let (owner, other) = (server.owner("bob").await, server.owner("carol").await);
    let (one, two) = (server.agent("@bob.one").await, server.agent("@bob.two").await);
    let carol = server.agent("@carol.c").await;
    let opened = async |agent: &Agent, body: Value| -> String {
        agent.open(body).await["session_id"].as_str().expect("an id").to_owned()
    };
    let mut made = Vec::new();
    for n in 0..70 {
        made.push(opened(&one, json!({"topic": format!("of one {n}")})).await);
    }
    let shared = opened(&one, json!({"topic": "shared", "invite": ["@bob.two", "@carol.c"]})).await;
    carol.join(&shared).await;
    let foreign = opened(&carol, json!({"topic": "foreign"})).await;
    let left = opened(&two, json!({"topic": "left", "invite": ["@bob.one"]})).await;
    one.join(&left).await;
    two.leave(&left).await;
    made.extend([shared.clone(), left.clone()]);
    made.reverse();
    let ids = |list: &Value| -> Vec<String> {
        let sessions = list["sessions"].as_array().expect("sessions");
        sessions.iter().map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
    };
    let whole = owner.get("/_admin/sessions").await.ok(200);
    assert_eq!(ids(&whole), made, "newest first, each once");
    assert_eq!(whole["next_cursor"], Value::Null);
    let [first, second, third, ..] = &whole["sessions"].as_array().expect("sessions")[..] else {
        panic!("{whole}")
    };
    assert_eq!(first["seen_by"], json!(["@bob.one", "@bob.two"]), "the one that is in it comes first");
    assert_eq!(first["participants"], one.get(&format!("/sessions/{left}")).await.ok(200)["participants"]);
    assert_eq!((&second["topic"], &second["seen_by"]), (&json!("shared"), &json!(["@bob.one", "@bob.two"])));
    assert_eq!((&third["seen_by"], &third["state"]), (&json!(["@bob.one"]), &json!("active")));
    let (mut paged, mut before) = (Vec::new(), String::new());
    loop {
        let page = owner.get(&format!("/_admin/sessions?limit=7{before}")).await.ok(200);
        assert!(ids(&page).len() <= 7);
        paged.extend(ids(&page));
        let Some(next) = page["next_cursor"].as_str() else { break };
        before = format!("&before={next}");
    }
    assert_eq!(paged, made, "pages leave out and repeat nothing");
    let everything = server.operator().get("/_admin/sessions").await.ok(200);
    assert!(ids(&everything).contains(&foreign) && ids(&everything).len() == made.len() + 1);
    assert_eq!(ids(&server.operator().get("/_admin/sessions?owner=carol").await.ok(200)), [foreign, shared]);
    owner.get("/_admin/sessions?limit=1001").await.assert_refused(400, "invalid_limit");
    for (caller, query) in [(&*one, ""), (&other, "?owner=bob"), (&server.operator(), "?owner=nobody")] {
        caller.get(&format!("/_admin/sessions{query}")).await.assert_refused(404, "not_found");
    }
}

/// The list of all sessions says when the last event happened that the agent may read.
#[tokio::test]
async fn the_list_of_all_sessions_says_when_something_last_happened() {
    let server = Server::start().await;
    let (bob, carol) = (server.owner("bob").await, server.owner("carol").await);
    let (one, other) = (server.agent("@bob.one").await, server.agent("@carol.c").await);
    let opened = other.open(json!({"topic": "t", "invite": ["@bob.one"]})).await;
    let id = opened["session_id"].as_str().expect("an id");
    let last = async |owner: &Caller| {
        owner.get("/_admin/sessions").await.ok(200)["sessions"][0]["last_event_at"].clone()
    };
    let newest = async |agent: &Agent| {
        let page = agent.get(&format!("/sessions/{id}/events")).await.ok(200);
        page["events"]
            .as_array()
            .and_then(|events| Some(events.last()?["created_at"].clone()))
            .expect("an event")
    };
    assert_eq!(last(&bob).await, newest(&one).await, "its invitation");
    one.join(id).await;
    other.say(id, "to both").await;
    assert_eq!(last(&bob).await, newest(&other).await);
    one.leave(id).await;
    for n in 0..3 {
        other.say(id, format!("to nobody else {n}")).await;
    }
    assert_eq!((last(&bob).await, last(&carol).await), (newest(&one).await, newest(&other).await));
    assert_ne!(newest(&one).await, newest(&other).await, "one that left is shown nothing later");
}
