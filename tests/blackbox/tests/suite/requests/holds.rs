//! Runs and invitations that are held: an owner lets a person decide about what others ask its agents for.

use blackbox::{Agent, Caller, Server, eventually};
use serde_json::{Value, json};

use super::{at, listed};

const ECHO: &str = "@acme.echo";

/// A server with the agent `echo` whose runs are held, its owner, and somebody of another owner.
async fn holding() -> (Server, Caller, Agent) {
    let config = "[agents.echo]\nowner = \"acme\"\npolicy = \"open\"\nkind = \"echo\"\n";
    let server = Server::builder().config(config).start().await;
    let rotated = server.operator().post_empty("/_admin/owners/acme/rotate-token").await.ok(200);
    let owner = server.bearer(rotated["token"].as_str().expect("a token"));
    let set = owner.patch(&format!("/_admin/agents/{ECHO}"), json!({"hold_runs": true})).await.ok(200);
    assert_eq!(set["hold_runs"], true);
    let stranger = server.agent("@nick.ann").await;
    (server, owner, stranger)
}

/// Asks for a run; its id.
async fn run(who: &Caller, input: &str) -> String {
    let asked = who.post("/agent/echo/run", json!({"type": "ChatRequest", "input": input})).await;
    assert_eq!(asked.status, 202, "{asked}");
    asked.header("x-run-id").expect("the id of the run").to_owned()
}

async fn status(who: &Caller, run: &str) -> Value {
    who.get(&format!("/agent/echo/runs/{run}")).await.ok(200)
}

async fn becomes(who: &Caller, run: &str, wanted: &str) -> Value {
    eventually(&format!("{run} is {wanted}"), || async {
        let found = status(who, run).await;
        (found["status"] == wanted).then_some(found)
    })
    .await
}

fn id(request: &Value) -> &str {
    request["request_id"].as_str().expect("an id")
}

async fn answer(owner: &Caller, request: &Value, answer: &str) {
    let body = json!({"type": answer, "version": request["version"]});
    owner.post(&at(id(request), "/answer"), body).await.ok(200);
}

/// Pages say of what the server holds what an answer does. An agent's own request cannot look like it.
#[tokio::test]
async fn an_agent_cannot_ask_in_the_form_of_what_the_server_holds() {
    let (_server, [agent]) = Server::with(["@nick.one"]).await;
    let asking = |room: &str| json!({"kind": "hold", "title": "Look", "on_behalf_of": "@acme.bot", "source": {"room": room, "id": "x"}});
    for room in ["runs", "sessions"] {
        agent.post("/requests", asking(room)).await.assert_refused(400, "invalid_source");
    }
    agent.post("/requests", asking("mcp")).await.ok(201);
}

#[tokio::test]
async fn a_run_that_a_stranger_asks_for_begins_when_a_person_accepts_it_over_a_crash() {
    let (mut server, owner, stranger) = holding().await;
    let held = run(&stranger, "Deploy it").await;
    let seen = status(&stranger, &held).await;
    assert_eq!((&seen["status"], &seen["held"]), (&json!("queued"), &json!(true)));
    let page = listed(&owner, "hold", 1).await;
    let request = &page["requests"][0];
    assert_eq!((&request["from"], &request["on_behalf_of"]), (&json!(ECHO), &json!("@nick.ann")));
    assert_eq!(request["title"], "@nick.ann asks @acme.echo for a run: Deploy it");
    assert_eq!((&request["detail"]["text"], &request["on_timeout"]), (&json!("Deploy it"), &json!("ignore")));
    let week = 7 * 24 * 60 * 60 * 1_000;
    let lasts = request["deadline_at"].as_u64().expect("a deadline")
        - request["created_at"].as_u64().expect("a time");
    assert!(lasts.abs_diff(week) < 60_000, "{request}");
    server.crash().await;
    assert_eq!(status(&stranger, &held).await["held"], true);
    assert_eq!(listed(&owner, "hold", 1).await["requests"][0]["request_id"], request["request_id"]);
    answer(&owner, request, "accept").await;
    let done = becomes(&stranger, &held, "completed").await;
    assert_eq!((&done["result"], &done["held"]), (&json!("Deploy it"), &Value::Null));
    server.crash().await;
    let events = stranger.get(&format!("/agent/echo/get_events/{held}?since=0")).await.ok(200);
    let begun =
        events.as_array().expect("events").iter().filter(|event| event["type"] == "RunStarted").count();
    assert_eq!(begun, 1, "{events}");
    listed(&owner, "hold", 0).await;
}

#[tokio::test]
async fn a_run_that_a_person_refuses_is_canceled_and_one_that_is_canceled_needs_no_answer() {
    let (_server, owner, stranger) = holding().await;
    let refused = run(&stranger, "one").await;
    let page = listed(&owner, "hold", 1).await;
    answer(&owner, &page["requests"][0], "ignore").await;
    let over = becomes(&stranger, &refused, "canceled").await;
    assert_eq!((&over["finish_reason"], &over["held"]), (&json!("canceled"), &Value::Null));
    let canceled = run(&stranger, "two").await;
    let page = listed(&owner, "hold", 1).await;
    let body = json!({"type": "CancelRequest", "run_id": canceled});
    assert_eq!(stranger.post("/agent/echo/run", body).await.status, 202);
    becomes(&stranger, &canceled, "canceled").await;
    listed(&owner, "hold", 0).await;
    let late = json!({"type": "accept", "version": page["requests"][0]["version"]});
    let late = owner.post(&at(id(&page["requests"][0]), "/answer"), late).await;
    assert_eq!(late.status, 409, "{late}");
    assert_eq!(status(&stranger, &canceled).await["status"], "canceled");
}

#[tokio::test]
async fn a_held_run_of_an_agent_that_is_stopped_is_canceled() {
    let (_server, owner, stranger) = holding().await;
    let held = run(&stranger, "one").await;
    listed(&owner, "hold", 1).await;
    owner.post_empty("/agent/echo/stop").await.ok(200);
    becomes(&stranger, &held, "canceled").await;
    listed(&owner, "hold", 0).await;
}

#[tokio::test]
async fn runs_of_ones_own_and_runs_after_the_switch_are_not_held() {
    let (server, owner, stranger) = holding().await;
    let own = server.agent("@acme.own").await;
    for who in [&*own, &owner, &server.operator()] {
        let begun = run(who, "mine").await;
        becomes(who, &begun, "completed").await;
    }
    let held = run(&stranger, "before").await;
    let path = format!("/_admin/agents/{ECHO}");
    owner.patch(&path, json!({"hold_runs": "yes"})).await.assert_refused(400, "invalid_hold_runs");
    stranger.patch(&path, json!({"hold_runs": false})).await.assert_refused(404, "not_found");
    owner.patch(&path, json!({"hold_runs": false})).await.ok(200);
    let free = run(&stranger, "after").await;
    becomes(&stranger, &free, "completed").await;
    assert_eq!(status(&stranger, &held).await["held"], true);
    answer(&owner, &listed(&owner, "hold", 1).await["requests"][0], "accept").await;
    becomes(&stranger, &held, "completed").await;
}

/// What a stranger says in a session makes the agent run, too.
#[tokio::test]
async fn a_message_of_a_stranger_in_a_session_is_answered_once_a_person_accepts() {
    let (server, owner, stranger) = holding().await;
    let made = stranger.open(json!({"invite": [ECHO], "initial_message": {"content": "hello"}})).await;
    let session = made["session_id"].as_str().expect("a session");
    let page = listed(&owner, "hold", 1).await;
    assert_eq!(page["requests"][0]["on_behalf_of"], "@nick.ann", "{page}");
    let said = || async {
        let events = stranger.history(session).await;
        events.iter().filter(|event| event["payload"]["sender"] == ECHO).count()
    };
    assert_eq!(said().await, 0);
    answer(&owner, &page["requests"][0], "accept").await;
    eventually("the answer", || async { (said().await == 1).then_some(()) }).await;
    drop(server);
}

/// How the agent stands in a session, as whoever invited it sees it.
async fn standing(who: &Caller, session: &str, agent: &str) -> Value {
    let seen = who.get(&format!("/sessions/{session}")).await.ok(200);
    let all = seen["participants"].as_array().expect("participants").clone();
    all.into_iter().find(|one| one["handle"] == agent).expect("it takes part")["status"].clone()
}

async fn stands(who: &Caller, session: &str, agent: &str, wanted: &str) {
    eventually(&format!("{agent} is {wanted}"), || async {
        (standing(who, session, agent).await == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_invitation_that_is_held_is_accepted_or_declined_by_a_person_over_a_crash() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    let (agent, sibling) = (server.agent("@nick.cc").await, server.agent("@nick.codex").await);
    let stranger = server.agent("@acme.bot").await;
    let path = format!("/_admin/agents/{}", agent.handle);
    owner
        .patch(&path, json!({"hold_invitations": "yes"}))
        .await
        .assert_refused(400, "invalid_hold_invitations");
    stranger.patch(&path, json!({"hold_invitations": true})).await.assert_refused(404, "not_found");
    let set = owner.patch(&path, json!({"hold_invitations": true})).await.ok(200);
    assert_eq!(set["hold_invitations"], true);
    let open = |who: &Caller, topic: &'static str| {
        let (who, body) = (who.clone(), json!({"invite": [agent.handle], "topic": topic}));
        async move {
            let made = who.post("/sessions", body).await.ok(201);
            made["session_id"].as_str().expect("an id").to_owned()
        }
    };
    let join = |session: &str| {
        let (agent, path) = (agent.clone(), format!("/sessions/{session}/join"));
        async move { agent.post_empty(&path).await }
    };
    let accepted = open(&stranger, "The parser").await;
    let page = listed(&owner, "hold", 1).await;
    let request = &page["requests"][0];
    assert_eq!((&request["from"], &request["on_behalf_of"]), (&json!(agent.handle), &json!("@acme.bot")));
    assert_eq!(request["title"], "@acme.bot invites @nick.cc: The parser");
    assert_eq!(request["detail"]["text"], "In the session: @acme.bot");
    assert_eq!((&request["source"]["room"], &request["on_timeout"]), (&json!("sessions"), &json!("ignore")));
    assert!(request["deadline_at"].is_u64(), "{request}");
    join(&accepted).await.assert_refused(409, "invitation_held");
    server.crash().await;
    join(&accepted).await.assert_refused(409, "invitation_held");
    answer(&owner, request, "accept").await;
    stands(&stranger, &accepted, agent.handle.as_str(), "joined").await;
    // Where it was let in it comes back by itself.
    agent.post_empty(&format!("/sessions/{accepted}/leave")).await.ok(200);
    stranger.post(&format!("/sessions/{accepted}/invite"), json!({"invite": [agent.handle]})).await.ok(200);
    join(&accepted).await.ok(200);
    let declined = open(&stranger, "An offer").await;
    answer(&owner, &listed(&owner, "hold", 1).await["requests"][0], "ignore").await;
    stands(&stranger, &declined, agent.handle.as_str(), "left").await;
    join(&declined).await.assert_refused(409, "not_joined");
    let ended = open(&stranger, "Over").await;
    listed(&owner, "hold", 1).await;
    stranger.post_empty(&format!("/sessions/{ended}/end")).await.ok(200);
    listed(&owner, "hold", 0).await;
    // An agent of the same owner needs nobody's leave, and what was held before the switch still waits.
    join(&open(&sibling, "Ours").await).await.ok(200);
    let before = open(&stranger, "Before").await;
    let page = listed(&owner, "hold", 1).await;
    owner.patch(&path, json!({"hold_invitations": false})).await.ok(200);
    join(&before).await.assert_refused(409, "invitation_held");
    join(&open(&stranger, "After").await).await.ok(200);
    answer(&owner, &page["requests"][0], "accept").await;
    stands(&stranger, &before, agent.handle.as_str(), "joined").await;
}

/// Where nobody can join, an accepted agent may reopen the session.
#[tokio::test]
async fn what_is_sent_and_ended_is_answered_once_a_person_accepts() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    let (agent, stranger) = (server.agent("@nick.cc").await, server.agent("@acme.bot").await);
    owner.patch(&format!("/_admin/agents/{}", agent.handle), json!({"hold_invitations": true})).await.ok(200);
    let send = async |text: &str| {
        let body =
            json!({"invite": [agent.handle], "initial_message": {"content": text}, "end_after_send": true});
        stranger.open(body).await["session_id"].as_str().expect("an id").to_owned()
    };
    let reopen = async |id: &str| {
        let body = json!({"initial_message": {"content": "thanks"}});
        agent.post(&format!("/sessions/{id}/reopen"), body).await
    };
    let accepted = send("FYI").await;
    let request = listed(&owner, "hold", 1).await["requests"][0].clone();
    assert_eq!((&request["from"], &request["on_behalf_of"]), (&json!(agent.handle), &json!("@acme.bot")));
    reopen(&accepted).await.assert_refused(409, "invitation_held");
    answer(&owner, &request, "accept").await;
    server.crash().await;
    eventually("the answer", || async { (reopen(&accepted).await.status == 200).then_some(()) }).await;
    assert_eq!(agent.status_of(&accepted, agent.handle.as_str()).await, "joined");
    listed(&owner, "hold", 0).await;
    let declined = send("An offer").await;
    answer(&owner, &listed(&owner, "hold", 1).await["requests"][0], "ignore").await;
    listed(&owner, "hold", 0).await;
    eventually("the decision", || async {
        (reopen(&declined).await.json()["error"]["code"] == "not_reopenable").then_some(())
    })
    .await;
    server.crash().await;
    reopen(&declined).await.assert_refused(409, "not_reopenable");
    // The sender's reopening invites it, with a request of its own in place of the first.
    let again = send("Are you there?").await;
    let first = listed(&owner, "hold", 1).await["requests"][0]["request_id"].clone();
    stranger.reopen(&again, json!({})).await;
    assert_eq!(stranger.status_of(&again, agent.handle.as_str()).await, "invited");
    let second = eventually("the second request", || async {
        let page = listed(&owner, "hold", 1).await;
        (page["requests"][0]["request_id"] != first).then(|| page["requests"][0].clone())
    })
    .await;
    answer(&owner, &second, "accept").await;
    stands(&stranger, &again, agent.handle.as_str(), "joined").await;
}

#[tokio::test]
async fn an_invitation_by_an_agent_of_the_same_owner_replaces_one_that_is_held() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (agent, sibling) = (server.agent("@nick.cc").await, server.agent("@nick.codex").await);
    let stranger = server.agent("@acme.bot").await;
    owner.patch(&format!("/_admin/agents/{}", agent.handle), json!({"hold_invitations": true})).await.ok(200);
    let id = stranger.create(&[&agent, &sibling]).await;
    listed(&owner, "hold", 1).await;
    sibling.join(&id).await;
    assert_eq!(stranger.invite(&id, &["@nick.cc"]).await, [""; 0], "it is invited already");
    assert_eq!(sibling.invite(&id, &["@nick.cc"]).await, ["@nick.cc"]);
    listed(&owner, "hold", 0).await;
    agent.join(&id).await;
}

/// An agent that the server runs joins by itself otherwise; released it answers what was said meanwhile.
#[tokio::test]
async fn an_agent_of_the_server_answers_once_a_person_lets_it_into_a_session() {
    let config = "[agents.echo]\nowner = \"acme\"\npolicy = \"open\"\nkind = \"echo\"\n";
    let server = Server::builder().config(config).start().await;
    let rotated = server.operator().post_empty("/_admin/owners/acme/rotate-token").await.ok(200);
    let owner = server.bearer(rotated["token"].as_str().expect("a token"));
    owner.patch(&format!("/_admin/agents/{ECHO}"), json!({"hold_invitations": true})).await.ok(200);
    let stranger = server.agent("@nick.ann").await;
    let made = stranger.open(json!({"invite": [ECHO], "initial_message": {"content": "hello"}})).await;
    let session = made["session_id"].as_str().expect("a session");
    let page = listed(&owner, "hold", 1).await;
    stranger
        .post(&format!("/sessions/{session}/messages"), json!({"content": "are you there?"}))
        .await
        .ok(201);
    assert_eq!(standing(&stranger, session, ECHO).await, "invited");
    answer(&owner, &page["requests"][0], "accept").await;
    let said = || async {
        let events = stranger.history(session).await;
        let answers = events.iter().filter(|event| event["payload"]["sender"] == ECHO);
        answers.map(|event| event["payload"]["content"].clone()).collect::<Vec<_>>()
    };
    let is_in = |text: &str, all: &[Value]| all.iter().any(|one| one.to_string().contains(text));
    eventually("both answers", || async {
        let said = said().await;
        (is_in("hello", &said) && is_in("are you there?", &said)).then_some(())
    })
    .await;
}
