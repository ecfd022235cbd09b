//! The one stream of everything that somebody may see.

use std::time::{Duration, Instant};

use blackbox::{Server, Stream, StreamItem, eventually, room};
use serde_json::{Value, json};

use super::{next_event, sign_in};

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().expect("a kind")).collect()
}

/// Reads until a message of this text was told.
async fn until(stream: &mut Stream, text: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let event = next_event(stream).await;
        let is_last = event["kind"] == "session.message" && event["data"]["text"] == text;
        all.push(event);
        if is_last {
            return all;
        }
    }
}

/// What does not concern a reader wakes none of its streams; they follow the head of the log all the same, and lose nothing
/// that comes later.
#[tokio::test]
async fn a_stream_passes_what_does_not_concern_its_reader() {
    let server = Server::start().await;
    let acme = server.owner("acme").await;
    let (one, two) = (server.agent("@nick.one").await, server.agent("@acme.two").await);
    let theirs = sign_in(&server, &acme, json!({})).await;
    let mut of_acme = theirs.watch("").await;
    let position = |event: &Value| -> u64 {
        event["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).expect("a cursor")
    };
    let hello = position(&of_acme.event().await.frame);
    let apart = room(&[&one]).await;
    for _ in 0..20 {
        one.post(&format!("/sessions/{apart}/messages"), json!({"content": "among us"})).await.ok(201);
    }
    let head = loop {
        let event = of_acme.event().await.frame;
        assert_ne!(event["stream"], apart.as_str(), "{event}");
        if event["kind"] == "head" {
            break event;
        }
    };
    assert!(position(&head) >= hello + 20, "{head}");
    let shared = room(&[&one, &two]).await;
    one.post(&format!("/sessions/{shared}/messages"), json!({"content": "together"})).await.ok(201);
    let events = until(&mut of_acme, "together").await;
    assert!(events.iter().all(|event| event["stream"] != apart.as_str()), "{events:#?}");
}

/// A page that reads a few of many events need not wait to know that there are no more.
#[tokio::test]
async fn a_stream_says_at_once_that_it_has_told_everything_up_to_the_head() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    room(&[&server.agent("@nick.one").await]).await;
    let browser = sign_in(&server, &owner, json!({})).await;
    let mut chosen = browser.watch("?after=0&kinds=session.created").await;
    let hello = chosen.event().await.frame;
    let began_at = Instant::now();
    assert_eq!(next_event(&mut chosen).await["kind"], "session.created");
    let head = chosen.event().await.frame;
    let number = |text: &Value| text.as_str().and_then(|text| text.parse::<u64>().ok());
    assert!(head["kind"] == "head" && number(&head["cursor"]) >= number(&hello["head"]), "{hello} {head}");
    assert!(began_at.elapsed() < Duration::from_secs(4), "{:?}", began_at.elapsed());
}

/// An owner is told what its agents may see, in the order of the log, and nothing of others.
#[tokio::test]
async fn an_owner_is_told_what_is_its_own() {
    let server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let (one, two) = (server.agent("@nick.one").await, server.agent("@acme.two").await);
    let (mine, theirs) = (sign_in(&server, &nick, json!({})).await, sign_in(&server, &acme, json!({})).await);
    let (mut of_nick, mut of_acme) = (mine.watch("").await, theirs.watch("").await);
    for stream in [&mut of_nick, &mut of_acme] {
        let hello = stream.event().await.frame;
        assert_eq!((&hello["kind"], &hello["cursor"]), (&json!("hello"), &hello["head"]), "{hello}");
    }
    let apart = room(&[&one]).await;
    one.post(&format!("/sessions/{apart}/messages"), json!({"content": "among us"})).await.ok(201);
    let shared = room(&[&one, &two]).await;
    two.post(&format!("/sessions/{shared}/messages"), json!({"content": "together"})).await.ok(201);
    let of_nick = until(&mut of_nick, "together").await;
    let mut of_acme = until(&mut of_acme, "together").await;
    // The invitation of a stranger is also a request to the people of its owner, and the stream may begin with the sign-in that
    // it is read by.
    of_acme.retain(|event| event["room"] == "sessions");
    let among: Vec<_> = of_nick.iter().filter(|event| event["data"]["text"] == "among us").collect();
    assert_eq!(among.len(), 1, "{of_nick:#?}");
    assert_eq!((&among[0]["room"], &among[0]["stream"]), (&json!("sessions"), &json!(apart)));
    assert_eq!(
        (&among[0]["agents"], &among[0]["data"]["from"]),
        (&json!(["@nick.one"]), &json!("@nick.one"))
    );
    assert!(of_acme.iter().all(|event| event["stream"] == shared.as_str()), "{of_acme:#?}");
    // Whether the creation is told depends on when it is looked at: the agent may read it once it has joined.
    let mut of_acme = kinds(&of_acme);
    of_acme.retain(|kind| *kind != "session.created");
    assert_eq!(of_acme, ["session.invited", "session.joined", "session.message"]);
    let cursors: Vec<u64> = of_nick
        .iter()
        .map(|event| event["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).expect("a number"))
        .collect();
    assert!(cursors.is_sorted_by(|a, b| a < b), "{cursors:?}");
}

/// What is asked for is filtered, and what is no filter or no cursor is refused.
#[tokio::test]
async fn what_is_told_can_be_chosen() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (one, two) = (server.agent("@nick.one").await, server.agent("@nick.two").await);
    let browser = sign_in(&server, &owner, json!({})).await;
    let id = room(&[&one]).await;
    room(&[&two]).await;
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "last"})).await.ok(201);
    let mut chosen = browser.watch("?after=0&rooms=sessions&kinds=session.created,session.message").await;
    assert_eq!(
        kinds(&until(&mut chosen, "last").await),
        ["session.created", "session.created", "session.message"]
    );
    let mut chosen = browser.watch("?after=0&kinds=session&agents=@nick.one").await;
    assert_eq!(kinds(&until(&mut chosen, "last").await), ["session.created", "session.message"]);
    // By words that stand far behind what is told of a message, in whatever form.
    let long = format!("{}the parsers are locked", "word ".repeat(100));
    one.post(&format!("/sessions/{id}/messages"), json!({"content": long})).await.ok(201);
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "a parser, unlocked"})).await.ok(201);
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "last of the locked parsers"}))
        .await
        .ok(201);
    let mut chosen = browser.watch("?after=0&q=parser%20lock").await;
    assert_eq!(
        kinds(&until(&mut chosen, "last of the locked parsers").await),
        ["session.message", "session.message"]
    );
    // Of packages and facts the texts that a search finds, which the stream does not show.
    for (id, member) in [("body", "content_md"), ("note", "handoff_note"), ("none", "topic")] {
        let mut package = json!({
            "package_id": id, "project_id": "p", "relay_version": "0.1", "title": "T", "status": "complete",
            "package_type": "standard", "review_type": "none", "created_at": "2026-01-01T00:00:00Z",
            "created_by": {"id": "@nick.one", "type": "agent"},
        });
        package[member] = json!("the lemurs ran away");
        one.post("/v1/projects/p/packages", package).await.ok(201);
    }
    let fact = json!({"subject": "s", "predicate": "p", "value": "a lemur"});
    one.post("/v1/projects/p/facts", fact).await.ok(201);
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "a lemur"})).await.ok(201);
    let mut chosen = browser.watch("?after=0&q=lemur").await;
    assert_eq!(
        kinds(&until(&mut chosen, "a lemur").await),
        ["package.deposited", "package.deposited", "fact.asserted", "session.message"]
    );
    let mut chosen = browser.watch("?after=0&room=sessions&q=lemur").await;
    assert_eq!(kinds(&until(&mut chosen, "a lemur").await), ["session.message"]);
    for (query, code) in [
        ("?q=", "invalid_query"),
        ("?q=the", "invalid_query"),
        ("?rooms=cellar", "invalid_rooms"),
        ("?kinds=", "invalid_kinds"),
        ("?agents=nick", "invalid_agents"),
        ("?after=x", "invalid_cursor"),
    ] {
        browser.get(&format!("/watch{query}")).await.assert_refused(400, code);
    }
    browser.get("/watch?after=99999999").await.assert_refused(410, "cursor_gone");
    server.stranger().get("/watch").await.refusal_code(401);
}

/// Whoever resumes behind a cursor misses nothing and gets nothing twice, over a kill of the server.
#[tokio::test]
async fn it_is_resumed_over_a_kill() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    let one = server.agent("@nick.one").await;
    let browser = sign_in(&server, &owner, json!({})).await;
    let id = room(&[&one]).await;
    let path = format!("/sessions/{id}/messages");
    let mut stream = browser.watch("?kinds=session.message").await;
    let mut heard = Vec::new();
    for n in 0..3 {
        one.post(&path, json!({"content": format!("m{n}")})).await.ok(201);
        heard.push(next_event(&mut stream).await);
    }
    let cursor = heard[1]["cursor"].as_str().expect("a cursor").to_owned();
    server.crash().await;
    let (one, browser) = (one.at(&server), browser.at(&server));
    one.post(&path, json!({"content": "m3"})).await.ok(201);
    let mut stream = browser.watch(&format!("?kinds=session.message&after={cursor}")).await;
    one.post(&path, json!({"content": "m4"})).await.ok(201);
    let texts: Vec<_> =
        until(&mut stream, "m4").await.iter().map(|event| event["data"]["text"].clone()).collect();
    assert_eq!(texts, ["m2", "m3", "m4"]);
    // The same by the header that browsers send.
    let headers = [("Cookie", &*browser.cookie), ("Last-Event-ID", &*cursor)];
    let request = browser.caller.request("GET", "/watch?kinds=session.message", &headers, None);
    let opened = Stream::open(browser.caller.address().place(), &request).await.expect("a connection");
    let mut stream = opened.unwrap_or_else(|refused| panic!("{refused}"));
    let again: Vec<_> =
        until(&mut stream, "m4").await.iter().map(|event| event["data"]["text"].clone()).collect();
    assert_eq!(again, texts);
}

/// A session that is ended takes its streams along, and no other.
#[tokio::test]
async fn streams_end_with_their_session() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let one = server.agent("@nick.one").await;
    let (ended, stays) =
        (sign_in(&server, &owner, json!({})).await, sign_in(&server, &owner, json!({})).await);
    let (mut first, mut second) = (ended.watch("").await, stays.watch("").await);
    first.event().await;
    second.event().await;
    assert_eq!(stays.delete(&format!("/console/sessions/{}", ended.id())).await.status, 204);
    let (_, end) = first.ending().await;
    assert_eq!(end, StreamItem::End);
    let id = room(&[&one]).await;
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "still"})).await.ok(201);
    until(&mut second, "still").await;
    // The owner's new token ends what was begun with the old one.
    owner.post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    assert_eq!(second.ending().await.1, StreamItem::End);
}

/// Runs, channels and projects are told too, each to whoever may see it.
#[tokio::test]
async fn every_room_tells() {
    let server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let (one, other) = (server.agent("@nick.one").await, server.agent("@acme.other").await);
    let (mine, theirs) = (sign_in(&server, &nick, json!({})).await, sign_in(&server, &acme, json!({})).await);
    let (mut of_nick, mut of_acme) = (mine.watch("").await, theirs.watch("").await);
    let channel = one.post("/agent-channel", json!({"title": "a title"})).await.ok(200);
    let path = format!("/agent-channel/{}/event", channel["id"].as_str().expect("an id"));
    one.post(&path, json!({"kind": "comms", "payload": {"text": "hi"}})).await.ok(200);
    let run = json!({"type": "ChatRequest", "input": "x", "wait": "result"});
    one.post("/agent/echo/run", run).await;
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    one.post("/v1/projects/garden/facts", fact).await.ok(201);
    let done = room(&[&other, &one]).await;
    one.post(&format!("/sessions/{done}/messages"), json!({"content": "done"})).await.ok(201);
    let told = until(&mut of_nick, "done").await;
    for kind in [
        "channel.created",
        "channel.event",
        "run.queued",
        "run.completed",
        "project.created",
        "fact.asserted",
    ] {
        assert_eq!(kinds(&told).iter().filter(|known| **known == kind).count(), 1, "{kind}: {told:#?}");
    }
    let foreign = until(&mut of_acme, "done").await;
    assert!(foreign.iter().all(|event| event["stream"] == done.as_str()), "{foreign:#?}");
    let overview = eventually("what was done today is counted", || async {
        let overview = mine.get("/overview").await.ok(200);
        (overview["counts"]["messages_today"] == 1).then_some(overview)
    })
    .await;
    assert_eq!(overview["counts"]["runs_today"], 1, "{overview}");
    let agents = overview["agents"].as_array().expect("agents");
    let one = agents.iter().find(|agent| agent["handle"] == "@nick.one").expect("the agent");
    assert_eq!((&one["kind"], &one["sessions_active"]), (&json!("agent"), &json!(1)), "{one}");
    assert_eq!(theirs.get("/overview").await.ok(200)["counts"]["runs_today"], 0);
}
