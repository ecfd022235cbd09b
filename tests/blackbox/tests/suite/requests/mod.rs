//! Requests to people, as the real server carries them out: asked by agents, answered by owners, durable, once.

mod crash;
mod forms;
mod holds;
mod hook;
mod shapes;
mod sources;

use std::time::Duration;

use blackbox::{Agent, Caller, Connection, Response, Server, eventually, in_time};
use serde_json::{Value, json};

/// An owner and an agent of it.
pub(super) struct House {
    pub(super) server: Server,
    pub(super) owner: Caller,
    pub(super) agent: Agent,
}

pub(super) async fn house() -> House {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let agent = server.agent("@nick.cc").await;
    House { server, owner, agent }
}

pub(super) fn permission() -> Value {
    json!({
        "kind": "permission",
        "title": "Run the tests",
        "action": {"name": "Bash", "args": {"command": "cargo test"}},
        "directory": "/src/app",
        "allow": {"accept": true, "edit": true, "respond": true, "ignore": true},
    })
}

pub(super) async fn ask(agent: &Caller, body: Value) -> String {
    let made = agent.post("/requests", body).await.ok(201);
    let id = made["request_id"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("ask_"), "{id}");
    id
}

pub(super) fn at(id: &str, below: &str) -> String {
    format!("/requests/{id}{below}")
}

#[tokio::test]
async fn a_request_is_shown_to_its_owner_and_the_answer_wakes_the_agent() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    let page = owner.get("/requests").await.ok(200);
    assert_eq!(page["counts"], json!({"open": 1, "snoozed": 0}));
    let shown = &page["requests"][0];
    assert_eq!((&shown["request_id"], &shown["from"]), (&json!(id), &json!("@nick.cc")));
    assert_eq!((&shown["state"], &shown["version"]), (&json!("open"), &json!(1)));
    assert_eq!(shown["action"]["args"]["command"], "cargo test");
    let waiting = {
        let (agent, path) = (agent.clone(), at(&id, "?wait=60"));
        tokio::spawn(async move { agent.get(&path).await.ok(200) })
    };
    let answer = json!({"type": "edit", "args": {"command": "cargo test -p app"}, "version": 1});
    let answered = owner.post(&at(&id, "/answer"), answer).await.ok(200);
    assert_eq!((&answered["state"], &answered["answer"]["by"]), (&json!("answered"), &json!("~nick")));
    let heard = in_time("the wait", waiting).await.expect("a wait");
    assert_eq!(heard["answer"]["args"], json!({"command": "cargo test -p app"}));
    let page = owner.get("/requests?state=answered").await.ok(200);
    assert_eq!((&page["requests"][0]["request_id"], &page["counts"]["open"]), (&json!(id), &json!(0)));
}

#[tokio::test]
async fn of_two_who_answer_at_once_one_wins_and_the_other_is_told_the_answer() {
    let House { server, owner, agent } = house().await;
    let operator = server.operator();
    for _ in 0..10 {
        let path = at(&ask(&agent, permission()).await, "/answer");
        let yes = json!({"type": "accept", "version": 1});
        let no = json!({"type": "ignore", "text": "Not now.", "version": 1});
        let (one, other) = tokio::join!(owner.post(&path, yes), operator.post(&path, no));
        let (won, lost) = if one.status == 200 { (one, other) } else { (other, one) };
        let stands = won.ok(200)["answer"].clone();
        lost.assert_refused(409, "already_answered");
        assert_eq!(lost.json()["answer"], stands);
    }
}

#[tokio::test]
async fn an_answer_to_another_version_or_of_another_kind_is_refused() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, json!({"kind": "question", "title": "Which one?"})).await;
    let until = blackbox::epoch_ms() + 60_000;
    let snoozed = owner.post(&at(&id, "/snooze"), json!({"until": until})).await.ok(200);
    assert_eq!((&snoozed["state"], &snoozed["version"]), (&json!("snoozed"), &json!(2)));
    assert_eq!(owner.get("/requests").await.ok(200)["requests"], json!([]));
    let page = owner.get("/requests?state=snoozed").await.ok(200);
    assert_eq!((page["requests"].as_array().map(Vec::len), &page["counts"]["snoozed"]), (Some(1), &json!(1)));
    assert_eq!(agent.get(&at(&id, "")).await.ok(200)["state"], "open", "the agent does not see it");
    let path = at(&id, "/answer");
    owner.post(&path, json!({"type": "accept", "version": 1})).await.assert_refused(409, "stale_version");
    let edit = json!({"type": "edit", "args": {}, "version": 2});
    owner.post(&path, edit).await.assert_refused(409, "answer_not_allowed");
    owner.post(&path, json!({"type": "respond", "version": 2})).await.assert_refused(400, "invalid_answer");
    owner.post(&path, json!({"type": "respond", "text": "The second.", "version": 2})).await.ok(200);
}

#[tokio::test]
async fn who_gave_up_needs_no_answer() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    assert_eq!(agent.delete(&at(&id, "")).await.status, 204);
    assert_eq!(agent.delete(&at(&id, "")).await.status, 204);
    let accept = json!({"type": "accept", "version": 1});
    owner.post(&at(&id, "/answer"), accept.clone()).await.assert_refused(409, "request_withdrawn");
    assert_eq!(owner.get("/requests").await.ok(200)["requests"], json!([]));
    let answered = ask(&agent, permission()).await;
    owner.post(&at(&answered, "/answer"), accept).await.ok(200);
    agent.delete(&at(&answered, "")).await.assert_refused(409, "already_answered");
}

#[tokio::test]
async fn an_answer_is_taken_back_until_it_stands_and_heard_only_then() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    let undoable = |version: u64| json!({"type": "accept", "version": version, "undo_seconds": 60});
    let answered = owner.post(&at(&id, "/answer"), undoable(1)).await.ok(200);
    assert!(answered["answer"]["undo_until"].is_u64(), "{answered}");
    let seen = agent.get(&at(&id, "")).await.ok(200);
    assert_eq!((&seen["state"], seen.get("answer")), (&json!("open"), None));
    let undone = owner.post_empty(&at(&id, "/undo")).await.ok(200);
    assert_eq!((&undone["state"], undone.get("answer")), (&json!("open"), None));
    owner.post_empty(&at(&id, "/undo")).await.assert_refused(409, "not_answered");
    let short = json!({"type": "ignore", "version": 3, "undo_seconds": 1});
    owner.post(&at(&id, "/answer"), short).await.ok(200);
    let heard = agent.get(&at(&id, "?wait=60")).await.ok(200);
    assert_eq!(heard["answer"]["type"], "ignore");
    owner.post_empty(&at(&id, "/undo")).await.assert_refused(409, "too_late");
    let long = json!({"type": "accept", "version": 1, "undo_seconds": 61});
    owner.post(&at(&id, "/answer"), long).await.assert_refused(400, "invalid_undo_seconds");
}

#[tokio::test]
async fn a_deadline_that_passes_counts_as_it_was_said() {
    let House { server: _server, owner, agent } = house().await;
    for (then, expected) in [("accept", json!("accept")), ("ignore", json!("ignore")), ("none", Value::Null)]
    {
        let mut body = permission();
        body["deadline_at"] = (blackbox::epoch_ms() + 300).into();
        body["on_timeout"] = then.into();
        let id = ask(&agent, body).await;
        let over = agent.get(&at(&id, "?wait=60")).await.ok(200);
        assert_eq!((&over["state"], &over["answer"]["type"]), (&json!("expired"), &expected));
        let accept = json!({"type": "accept", "version": over["version"]});
        owner.post(&at(&id, "/answer"), accept).await.assert_refused(409, "request_expired");
    }
    let mut past = permission();
    past["deadline_at"] = (blackbox::epoch_ms() - 1).into();
    agent.post("/requests", past).await.assert_refused(400, "invalid_deadline");
}

#[tokio::test]
async fn a_rule_answers_the_like_of_it_at_once_until_it_is_removed() {
    let House { server, owner, agent } = house().await;
    let other = server.agent("@nick.other").await;
    let id = ask(&agent, permission()).await;
    let rule = json!({"agent": "@nick.cc", "tool": "Bash", "directory": "/src/app", "expires_in_days": 7});
    let answer = json!({"type": "accept", "version": 1, "rule": rule});
    owner.post(&at(&id, "/answer"), answer).await.ok(200);
    let rules = owner.get("/requests/rules").await.ok(200);
    let made = &rules["rules"][0];
    assert_eq!((&made["tool"], &made["request_id"]), (&json!("Bash"), &json!(id)));
    let answered = agent.post("/requests", permission()).await.ok(201);
    assert_eq!((&answered["state"], &answered["answer"]["by"]), (&json!("answered"), &json!("rule")));
    assert_eq!(answered["answer"]["rule_id"], made["rule_id"]);
    let mut elsewhere = permission();
    elsewhere["directory"] = "/src/application".into();
    assert_eq!(agent.post("/requests", elsewhere).await.ok(201)["state"], "open");
    assert_eq!(other.post("/requests", permission()).await.ok(201)["state"], "open");
    let path = format!("/requests/rules/{}", made["rule_id"].as_str().expect("an id"));
    assert_eq!(owner.delete(&path).await.status, 204);
    owner.delete(&path).await.assert_refused(404, "not_found");
    assert_eq!(agent.post("/requests", permission()).await.ok(201)["state"], "open");
}

#[tokio::test]
async fn d_1_a_wait_ends_with_its_token() {
    let House { server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    let made = agent.post("/agents/me/tokens", json!({"scope": "requests:write"})).await.ok(201);
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    for (waiter, ends_by) in [
        (
            server.bearer(&text("token")),
            agent.request("DELETE", &format!("/agents/me/tokens/{}", text("id")), &[], None),
        ),
        (owner.clone(), owner.request("POST", "/_admin/owners/nick/rotate-token", &[], None)),
        ((*agent).clone(), server.operator().request("DELETE", "/_admin/agents/@nick.cc", &[], None)),
    ] {
        let mut connection = Connection::open(waiter.address().place()).await.expect("a connection");
        let wait = waiter.request("GET", &at(&id, "?wait=60"), &[], None);
        connection.send(&wait).await.expect("a request");
        let begun = std::time::Instant::now();
        assert!((200..300).contains(&server.stranger().bytes(&ends_by).await.status));
        assert_eq!(connection.response().await.expect("an answer").status, 401);
        assert!(begun.elapsed() < Duration::from_secs(10), "within the interval of checks without a wake-up");
    }
}

#[tokio::test]
async fn who_has_nothing_to_do_with_it_finds_nothing() {
    let House { server, owner: _, agent } = house().await;
    let (foreign, stranger) = (server.owner("acme").await, server.agent("@acme.bot").await);
    let sibling = server.agent("@nick.two").await;
    let id = ask(&agent, permission()).await;
    let absent = "ask_01HW7AB12CDEFGHJKMNPQRSTVW";
    for caller in [&foreign, &*stranger, &*sibling] {
        let of = async |id: &str| caller.get(&at(id, "?wait=1")).await.fingerprint().replace(id, "ID");
        assert_eq!(of(&id).await, of(absent).await);
        let accept = json!({"type": "accept", "version": 1});
        caller.post(&at(&id, "/answer"), accept).await.assert_refused(404, "not_found");
        assert_eq!(caller.get("/requests").await.ok(200)["requests"], json!([]));
    }
    let accept = json!({"type": "accept", "version": 1});
    agent.post(&at(&id, "/answer"), accept).await.assert_refused(404, "not_found");
}

#[tokio::test]
async fn the_answer_comes_to_the_inbox_of_the_agent() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    let mut silent = permission();
    silent["inbox"] = false.into();
    let untold = ask(&agent, silent).await;
    let waiting = {
        let agent = agent.clone();
        tokio::spawn(async move { agent.get("/inbox/wait?timeout_s=30").await.ok(200) })
    };
    for id in [&untold, &id] {
        let answer = json!({"type": "ignore", "text": "Not today.", "version": 1});
        owner.post(&at(id, "/answer"), answer).await.ok(200);
    }
    let page = in_time("the inbox", waiting).await.expect("a wait");
    let item = &page["items"][0];
    assert_eq!((&item["kind"], &item["trust"]), (&json!("request.answered"), &json!("system")));
    assert_eq!((&item["ref"], &item["subject"]), (&json!({"request_id": id}), &json!("Run the tests")));
    assert_eq!(item["text"], "ignore by ~nick\nNot today.");
    agent.post("/inbox/ack", json!({"cursor": page["cursor"]})).await.ok(200);
    assert_eq!(agent.get("/inbox").await.ok(200)["items"], json!([]));
}

#[tokio::test]
async fn many_are_answered_at_once_and_one_that_is_refused_holds_up_none() {
    let House { server: _server, owner, agent } = house().await;
    let (one, two) = (ask(&agent, permission()).await, ask(&agent, permission()).await);
    let answer = |id: &str, version: u64| json!({"request_id": id, "type": "accept", "version": version});
    let mut unbounded = answer("", 1);
    unbounded["rule"] = json!({"agent": "@nick.cc", "tool": "Bash", "expires_in_days": 0});
    let malformed = json!({"answers": [answer(&one, 1), unbounded]});
    owner.post("/requests/answers", malformed).await.assert_refused(400, "invalid_rule");
    let body = json!({"answers": [answer(&one, 7), answer("ask_1", 1), answer(&two, 1)]});
    let results = owner.post("/requests/answers", body).await.ok(200);
    assert_eq!(results["results"][0]["error"]["code"], "stale_version");
    assert_eq!(results["results"][1]["error"]["code"], "not_found");
    assert_eq!(results["results"][2]["request"]["state"], "answered");
    let none = json!({"answers": []});
    owner.post("/requests/answers", none).await.assert_refused(400, "invalid_answers");
}

#[tokio::test]
async fn past_the_limit_an_agent_asks_no_more_until_something_is_answered() {
    let House { server: _server, owner, agent } = house().await;
    let mut last = String::new();
    for _ in 0..200 {
        last = ask(&agent, json!({"kind": "question", "title": "And now?"})).await;
    }
    let more = json!({"kind": "question", "title": "And now?"});
    agent.post("/requests", more.clone()).await.assert_refused(429, "too_many_requests");
    owner.post(&at(&last, "/answer"), json!({"type": "ignore", "version": 1})).await.ok(200);
    ask(&agent, more).await;
    let mut large = permission();
    large["detail"] = json!({"text": "x".repeat(70_000)});
    let refused = agent.post("/requests", large).await;
    refused.assert_refused(413, "request_too_large");
    let (mut cursor, mut seen) = (String::new(), std::collections::BTreeSet::new());
    loop {
        let page = owner.get(&format!("/requests?limit=100{cursor}")).await.ok(200);
        for request in page["requests"].as_array().expect("a list") {
            assert!(seen.insert(request["request_id"].to_string()), "{request} stands twice");
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", next.replace('/', "%2F")),
            None => break,
        }
    }
    assert_eq!(seen.len(), 200);
}

/// A one-tap link in a browser.
pub(super) struct Tap {
    anybody: Caller,
    origin: String,
    path: String,
}

impl Tap {
    pub(super) async fn of(server: &Server, owner: &Caller, id: &str) -> Self {
        let link = owner.post_empty(&at(id, "/link")).await.ok(201);
        let url = link["url"].as_str().expect("a link");
        let path = url[url.find("/tap/").expect("a path")..].to_owned();
        Self { anybody: server.stranger(), origin: server.url(), path }
    }

    pub(super) async fn look(&self) -> Response {
        self.anybody.get(&self.path).await
    }

    pub(super) async fn send(&self, form: &str) -> Response {
        let kind = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", self.origin.as_str())];
        let request = self.anybody.request("POST", &self.path, &kind, Some(form.as_bytes()));
        self.anybody.bytes(&request).await
    }
}

#[tokio::test]
async fn a_link_shows_the_request_as_text_and_answers_it_once() {
    let House { server, owner, agent } = house().await;
    let mut body = permission();
    body["title"] = "<script>alert(1)</script>".into();
    let id = ask(&agent, body).await;
    let tap = Tap::of(&server, &owner, &id).await;
    let page = tap.look().await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        page.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'"))
    );
    // With either of them a browser would send the form as nobody's page, and be refused.
    assert!(page.header("content-security-policy").is_some_and(|policy| !policy.contains("sandbox")));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    let text = page.text();
    assert!(text.contains("&lt;script&gt;") && !text.contains("<script"), "{text}");
    assert_eq!(owner.get(&at(&id, "")).await.ok(200)["state"], "open", "looking answers nothing");
    assert_eq!(tap.send("answer=perhaps").await.status, 400);
    assert_eq!(tap.send("answer=respond&text=Not%20now").await.status, 200);
    assert_eq!(tap.send("answer=accept").await.status, 409);
    let seen = agent.get(&at(&id, "")).await.ok(200);
    assert_eq!((&seen["answer"]["text"], &seen["answer"]["by"]), (&json!("Not now"), &json!("link")));
    let unknown = format!("/tap/{}", "0".repeat(64));
    assert_eq!(server.stranger().get(&unknown).await.status, 404);
}

/// The page says until when it waits and what happens then, on behalf of whom it is asked, and lets the arguments be changed.
#[tokio::test]
async fn a_link_shows_the_deadline_and_changes_the_arguments() {
    let House { server, owner, agent } = house().await;
    let mut body = permission();
    body["on_behalf_of"] = "@acme.bot".into();
    body["deadline_at"] = (blackbox::epoch_ms() + 3_600_000).into();
    body["on_timeout"] = "ignore".into();
    body["action"]["args"] = json!({"command": "</textarea><script>x", "timeout": 7, "odd": "a\u{202e}b"});
    let id = ask(&agent, body).await;
    let tap = Tap::of(&server, &owner, &id).await;
    let page = tap.look().await.text();
    for part in [
        "@nick.cc asks on behalf of @acme.bot in /src/app.",
        "; then it counts as ignored.",
        "<textarea name=\"arg.command\" rows=1>\n&lt;/textarea&gt;&lt;script&gt;x</textarea>",
        "<textarea name=\"arg.timeout\" rows=1>\n7</textarea>",
    ] {
        assert!(page.contains(part), "{part} is in {page}");
    }
    assert!(!page.contains("<script") && !page.contains("arg.odd"), "{page}");
    assert_eq!(tap.send("answer=edit&arg.command=ls&arg.timeout=soon").await.status, 400);
    let done = tap.send("answer=edit&arg.command=ls%0D%0Apwd&arg.timeout=9&arg.other=1").await;
    assert_eq!(done.status, 200);
    let answer = agent.get(&at(&id, "")).await.ok(200)["answer"].clone();
    // What was not shown stays, and what nobody asked for is not added.
    assert_eq!(answer["args"], json!({"command": "ls\npwd", "timeout": 9, "odd": "a\u{202e}b"}));
}

/// Whoever opens a link later sees how it was answered, and by whom.
#[tokio::test]
async fn a_link_shows_who_answered() {
    let House { server, owner, agent } = house().await;
    let mut writing = permission();
    writing["action"]["args"] = json!({"content": "a:\n  <b", "mode": 7});
    let id = ask(&agent, writing).await;
    let tap = Tap::of(&server, &owner, &id).await;
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    let answer = json!({"type": "respond", "text": "<i>No", "version": 1});
    let person = [("X-ASP-Agent", "@nick.mara")];
    owner.call("POST", &at(&id, "/answer"), &person, Some(&answer)).await.ok(200);
    let page = tap.look().await.text();
    assert!(page.contains("Answered.</b> By @nick.mara, 20"), "{page}");
    assert!(page.contains("&lt;i&gt;No") && !page.contains("<form"), "{page}");
    assert!(page.contains("<p>content:</p><pre>\na:\n  &lt;b</pre>"), "line by line: {page}");
    let mut body = permission();
    body["deadline_at"] = (blackbox::epoch_ms() + 500).into();
    body["on_timeout"] = "accept".into();
    let late = ask(&agent, body).await;
    let tap = Tap::of(&server, &owner, &late).await;
    agent.get(&at(&late, "?wait=60")).await.ok(200);
    let page = tap.look().await.text();
    assert!(
        page.contains("The deadline has passed.") && page.contains("Accepted.</b> By the deadline"),
        "{page}"
    );
}

/// An agent answers no requests, so that one which is given to it would reach nobody.
#[tokio::test]
async fn a_request_goes_to_a_person_and_to_no_agent() {
    let House { server, owner, agent } = house().await;
    server.agent("@nick.two").await;
    let id = ask(&agent, permission()).await;
    let delegate = owner.post(&at(&id, "/delegate"), json!({"to": "@nick.two"})).await;
    delegate.assert_refused(400, "unknown_person");
    let mut to_agent = permission();
    to_agent["to"] = "@nick.two".into();
    agent.post("/requests", to_agent).await.assert_refused(400, "unknown_person");
    owner.post(&at(&id, "/delegate"), json!({"to": "@nick.nick"})).await.ok(200);
}

/// The requests that were given to one person, over more requests than one page looks through.
#[tokio::test]
async fn the_requests_of_one_person_are_listed() {
    let House { server, owner, agent } = house().await;
    let other = server.agent("@nick.two").await;
    for handle in ["@nick.mara", "@nick.bob"] {
        owner.post("/_admin/people", json!({"handle": handle})).await.ok(201);
    }
    for _ in 0..198 {
        ask(&agent, permission()).await;
    }
    let mut to_mara = permission();
    to_mara["to"] = "@nick.mara".into();
    let first = ask(&agent, to_mara).await;
    let given = ask(&agent, permission()).await;
    owner.post(&at(&given, "/delegate"), json!({"to": "@nick.mara"})).await.ok(200);
    let beyond = ask(&other, permission()).await;
    owner.post(&at(&beyond, "/delegate"), json!({"to": "@nick.bob"})).await.ok(200);
    let list = async |query: &str| {
        let page = owner.get(&format!("/requests?{query}")).await.ok(200);
        let all = page["requests"].as_array().expect("a list").iter();
        let ids: Vec<_> = all.map(|one| one["request_id"].as_str().expect("an id").to_owned()).collect();
        (ids, page["next_cursor"].as_str().map(|next| next.replace('/', "%2F")))
    };
    let (mara, next) = list("to=%40nick.mara").await;
    assert_eq!(mara, [first, given.clone()]);
    let next = next.expect("a page ends where it looked through enough");
    assert_eq!(list(&format!("to=%40nick.mara&cursor={next}")).await, (vec![], None));
    let (bob, next) = list("to=%40nick.bob").await;
    assert!(bob.is_empty());
    let next = next.expect("there is more");
    assert_eq!(list(&format!("to=%40nick.bob&cursor={next}")).await, (vec![beyond], None));
    owner.post(&at(&given, "/answer"), json!({"type": "accept", "version": 2})).await.ok(200);
    assert_eq!(list("to=%40nick.mara&state=answered").await, (vec![given], None));
    owner.get("/requests?to=mara").await.assert_refused(400, "invalid_to");
}

#[tokio::test]
async fn what_an_owner_stores_is_counted_as_it_is_asked() {
    let House { mut server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    let rule = json!({"agent": "@nick.cc", "tool": "Bash", "expires_in_days": 7});
    let answer = json!({"type": "accept", "version": 1, "rule": rule});
    owner.post(&at(&id, "/answer"), answer).await.ok(200);
    ask(&agent, permission()).await;
    server.stop().await;
    crate::notify::assert_sound(&server);
}

/// Until the owner's list has so many.
pub(crate) async fn listed(owner: &Caller, kind: &str, count: usize) -> Value {
    eventually("the requests of the owner", || async {
        let page = owner.get(&format!("/requests?kind={kind}")).await.ok(200);
        (page["requests"].as_array().map(Vec::len) == Some(count)).then_some(page)
    })
    .await
}

#[tokio::test]
async fn the_overview_counts_what_waits_for_the_people_of_an_owner() {
    let House { server, owner, agent } = house().await;
    let stranger = server.owner("acme").await;
    server.agent("@acme.bot").await;
    let first = ask(&agent, permission()).await;
    let second = ask(&agent, permission()).await;
    let waiting = async |who: &Caller| who.get("/overview").await.ok(200)["waiting"].clone();
    let since = async |id: &str| owner.get(&at(id, "")).await.ok(200)["created_at"].clone();
    assert_eq!(waiting(&owner).await, json!({"count": 2, "oldest_at": since(&first).await}));
    assert_eq!(waiting(&server.operator()).await["count"], 2);
    assert_eq!(waiting(&stranger).await, json!({"count": 0, "oldest_at": null}));
    let until = blackbox::epoch_ms() + 60_000;
    owner.post(&at(&first, "/snooze"), json!({"until": until})).await.ok(200);
    assert_eq!(waiting(&owner).await, json!({"count": 1, "oldest_at": since(&second).await}));
    owner.post(&at(&second, "/answer"), json!({"type": "accept", "version": 1})).await.ok(200);
    assert_eq!(waiting(&owner).await["count"], 0);
}
