//! Decisions of people: which person of an owner gave an answer, and the entries of the audit.

use blackbox::{Agent, Caller, Cli, Server, eventually};
use serde_json::{Value, json};

use super::{Browser, sign_in};

/// An owner with two people and an agent that asks.
struct Desk {
    server: Server,
    owner: Caller,
    agent: Agent,
    nick: Browser,
    mara: Browser,
}

async fn desk() -> Desk {
    let server = Server::start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    let nick = sign_in(&server, &owner, json!({})).await;
    let mara = sign_in(&server, &owner, json!({"person": "@nick.mara"})).await;
    Desk { server, owner, agent, nick, mara }
}

async fn ask(agent: &Caller) -> String {
    let body = json!({"kind": "permission", "title": "Run it", "action": {"name": "Bash", "args": {"command": "make"}}});
    let made = agent.post("/requests", body).await.ok(201);
    made["request_id"].as_str().expect("an id").to_owned()
}

fn path(id: &str) -> String {
    format!("/requests/{id}/answer")
}

fn accept() -> Value {
    json!({"type": "accept", "version": 1})
}

/// Whoever of several people answers is named: by the session of the console, or by `X-ASP-Agent`.
#[tokio::test]
async fn an_answer_names_the_person_who_gave_it() {
    let Desk { mut server, owner, agent, nick, mara } = desk().await;
    let by = |answered: &Value| (answered["answer"]["by"].clone(), answered["answer"]["person"].clone());
    let of = |person: &str| (json!("~nick"), json!(person));
    let first = ask(&agent).await;
    assert_eq!(by(&mara.post(&path(&first), accept()).await.ok(200)), of("@nick.mara"));
    let second = ask(&agent).await;
    assert_eq!(by(&nick.post(&path(&second), accept()).await.ok(200)), of("@nick.nick"));
    let third = ask(&agent).await;
    assert_eq!(by(&mara.post_as("@nick.mara", &path(&third), accept()).await.ok(200)), of("@nick.mara"));
    let named = |person: &'static str| [("X-ASP-Agent", person)];
    let call = async |who: &Caller, person: &'static str, id: &str| {
        who.call("POST", &path(id), &named(person), Some(&accept())).await
    };
    let fourth = ask(&agent).await;
    // An agent decides nothing, and nobody is somebody else's person.
    mara.post_as("@nick.cc", &path(&fourth), accept()).await.assert_refused(404, "not_found");
    mara.post_as("@nick.nick", &path(&fourth), accept()).await.assert_refused(404, "not_found");
    call(&owner, "@nick.cc", &fourth).await.assert_refused(401, "invalid_authorization");
    call(&owner, "@acme.acme", &fourth).await.assert_refused(401, "invalid_authorization");
    assert_eq!(by(&call(&owner, "@nick.mara", &fourth).await.ok(200)), of("@nick.mara"));
    let fifth = ask(&agent).await;
    let answered = call(&server.operator(), "@nick.mara", &fifth).await.ok(200);
    assert_eq!(by(&answered), (json!("operator"), json!("@nick.mara")));
    let sixth = ask(&agent).await;
    let answers = json!({"answers": [{"request_id": sixth, "type": "ignore", "version": 1}]});
    let results = nick.post("/requests/answers", answers).await.ok(200);
    assert_eq!(by(&results["results"][0]["request"]), of("@nick.nick"));
    let seventh = ask(&agent).await;
    assert_eq!(by(&owner.post(&path(&seventh), accept()).await.ok(200)), (json!("~nick"), Value::Null));
    server.crash().await;
    let agent = server.bearer(agent.token());
    let heard = agent.get(&format!("/requests/{first}")).await.ok(200);
    assert_eq!(by(&heard), of("@nick.mara"));
    let items = agent.get("/inbox").await.ok(200)["items"].clone();
    let texts: Vec<_> = items.as_array().expect("items").iter().map(|item| item["text"].clone()).collect();
    assert!(texts.contains(&json!("accept by @nick.mara")), "{texts:?}");
}

/// At the command line `--as` says which person it is; an agent that it names says nothing of a person.
#[tokio::test]
async fn the_command_line_says_which_person_answers() {
    let Desk { server, owner, agent, .. } = desk().await;
    let cli = Cli::of(&server, &agent, "s-1");
    let (owner_token, id) = (owner.token().to_owned(), ask(&agent).await);
    let with = ["--token", owner_token.as_str()];
    let run = async |words: &[&str]| cli.run_ok(&[&with[..], words].concat()).await;
    run(&["--as", "@nick.mara", "requests", "answer", &id, "accept"]).await;
    let shown = run(&["requests", "show", &id]).await;
    assert!(shown.contains("accept by @nick.mara"), "{shown}");
    let late = cli.run(&[&with[..], &["requests", "answer", &id, "ignore"]].concat()).await;
    assert!(late.code == 1 && late.err.contains("@nick.mara answered it first: accept"), "{late:?}");
    let other = ask(&agent).await;
    run(&["--as", "@nick.cc", "requests", "answer", &other, "ignore"]).await;
    assert_eq!(owner.get(&format!("/requests/{other}")).await.ok(200)["answer"]["person"], Value::Null);
}

/// The command line says who asks, and lists what is given to one person.
#[tokio::test]
async fn the_command_line_says_who_asks_and_whom() {
    let Desk { server, owner, agent, .. } = desk().await;
    let cli = Cli::of(&server, &agent, "s-1");
    let token = owner.token().to_owned();
    let run = async |words: &[&str]| cli.run_ok(&[&["--token", token.as_str()][..], words].concat()).await;
    let closed = server.closed_agent("@nick.closed", &[]).await;
    let stranger = server.agent("@acme.bot").await;
    stranger.post("/contacts", json!({"to": closed.handle})).await.ok(200);
    let contact = eventually("the contact request", || async {
        let page = owner.get("/requests?kind=contact").await.ok(200);
        page["requests"][0]["request_id"].as_str().map(str::to_owned)
    })
    .await;
    let shown = run(&["requests", "show", &contact]).await;
    assert!(shown.contains("@acme.bot asks @nick.closed for contact"), "{shown}");
    let other = ask(&agent).await;
    run(&["requests", "delegate", &contact, "@nick.mara"]).await;
    let listed = run(&["requests", "list", "--to", "@nick.mara"]).await;
    assert!(listed.contains(&contact) && !listed.contains(&other), "{listed}");
    assert!(run(&["requests", "show", &contact]).await.contains("given to @nick.mara"));
}

fn entries(page: &Value) -> Vec<(String, String, Option<String>, u64)> {
    let text = |entry: &Value, name: &str| entry[name].as_str().expect("a text").to_owned();
    let all = page["entries"].as_array().expect("entries").iter();
    let of = |entry: &Value| {
        let agent = entry["as"].as_str().map(str::to_owned);
        let status = entry["status"].as_u64().expect("a status");
        (text(entry, "person"), text(entry, "operation"), agent, status)
    };
    all.map(of).collect()
}

/// What a person decides has an entry, and so has each change of agents and tokens from the console; the rest has none.
#[tokio::test]
async fn decisions_and_changes_of_people_have_entries() {
    let Desk { server: _server, owner, agent, nick, mara } = desk().await;
    let (one, two, three) = (ask(&agent).await, ask(&agent).await, ask(&agent).await);
    let undoable = json!({"type": "accept", "version": 1, "undo_seconds": 60});
    mara.post(&path(&one), undoable).await.ok(200);
    nick.post(&format!("/requests/{one}/undo"), json!({})).await.ok(200);
    nick.post(&format!("/requests/{one}/delegate"), json!({"to": "@nick.mara"})).await.ok(200);
    let until = blackbox::epoch_ms() + 60_000;
    nick.post(&format!("/requests/{one}/snooze"), json!({"until": until})).await.ok(200);
    let answers = json!({"answers": [{"request_id": two, "type": "ignore", "version": 1}]});
    mara.post("/requests/answers", answers).await.ok(200);
    mara.post(&path(&two), accept()).await.assert_refused(409, "already_answered");
    owner.call("POST", &path(&three), &[("X-ASP-Agent", "@nick.mara")], Some(&accept())).await.ok(200);
    nick.post("/_admin/agents", json!({"handle": "@nick.new"})).await.ok(201);
    nick.call("PATCH", "/_admin/agents/%40nick.new", &[], Some(json!({"policy": "open"}))).await.ok(200);
    nick.post("/_admin/agents/@nick.new/rotate-token", json!({})).await.ok(200);
    // With a token, and nobody named, no person decides.
    owner.post(&path(&ask(&agent).await), accept()).await.ok(200);
    owner.post("/_admin/agents", json!({"handle": "@nick.other"})).await.ok(201);
    let page = owner.get("/_admin/audit").await.ok(200);
    let entry =
        |person: &str, operation: &str, status| (person.to_owned(), operation.to_owned(), None, status);
    let expected = [
        entry("@nick.nick", "agent.rotate_token", 200),
        entry("@nick.nick", "agent.update", 200),
        entry("@nick.nick", "agent.create", 201),
        entry("@nick.mara", "request.answer", 200),
        entry("@nick.mara", "request.answer", 409),
        entry("@nick.mara", "request.answer_many", 200),
        entry("@nick.nick", "request.delegate", 200),
        entry("@nick.nick", "request.undo", 200),
        entry("@nick.mara", "request.answer", 200),
    ];
    assert_eq!(entries(&page), expected, "the newest first: {page}");
    let sessions: Vec<_> =
        page["entries"].as_array().expect("entries").iter().map(|one| &one["session_id"]).collect();
    assert_eq!((sessions[0], sessions[3]), (&json!(nick.id()), &Value::Null));
}

/// What the operator changes of an owner's agents is on the owner's list; what belongs to no owner is on the operator's alone.
#[tokio::test]
async fn an_owner_sees_what_the_operator_changes() {
    let Desk { server, owner, agent, .. } = desk().await;
    let operator = server.operator();
    let browser = sign_in(&server, &operator, json!({})).await;
    browser.post("/_admin/agents/@nick.cc/allowlist", json!({"entries": ["@acme.*"]})).await.ok(200);
    browser.post(&path(&ask(&agent).await), accept()).await.ok(200);
    let operations = async |who: &Caller| {
        let page = who.get("/_admin/audit").await.ok(200);
        entries(&page).into_iter().map(|(person, operation, ..)| (person, operation)).collect::<Vec<_>>()
    };
    let seen = operations(&owner).await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0].0, "operator");
    let all = operations(&operator).await;
    assert_eq!((all.len(), &all[0].1), (2, &"request.answer".to_owned()), "{all:?}");
    // A viewer decides nothing, and leaves no entry.
    let viewer = sign_in(&server, &owner, json!({"role": "viewer"})).await;
    viewer.post(&path(&ask(&agent).await), accept()).await.assert_refused(403, "read_only");
    assert_eq!(operations(&owner).await.len(), 1);
}
