//! Who may use a channel: its owner, whom trust admits, who has its link, and nobody else (D.6). Whoever may not gets
//! the answer of a channel that there is not, to the byte.

use blackbox::{Agent, Caller, Response, Server, eventually};
use serde_json::{Value, json};

use super::{append, configured, refused};
use crate::{
    console::sign_in,
    sse::{Sent, Stream},
};

/// A channel that somebody created.
struct Made {
    id: String,
    /// Its path with its key.
    link: String,
}

impl Made {
    async fn by(who: &Caller) -> Self {
        let made = who.post("/agent-channel", json!({"title": "a title"})).await.ok(200);
        Self::of(&made)
    }

    fn of(channel: &Value) -> Self {
        let id = channel["id"].as_str().expect("an id").to_owned();
        let url = channel["url"].as_str().expect("a url");
        let at = url.find("/agent-channel/").expect("its path");
        let link = url[at..].to_owned();
        let key = link.split_once("?key=").expect("a key").1;
        assert!(key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "128 bits: {url}");
        Self { id, link }
    }

    fn key(&self) -> &str {
        self.link.split_once("key=").expect("a key").1
    }

    fn path(&self, rest: &str) -> String {
        format!("/agent-channel/{}{rest}", self.id)
    }

    async fn shown_to(&self, who: &Caller) -> bool {
        match who.get(&self.path("")).await {
            response if response.status == 200 => true,
            response => {
                refused(&response, 404, "no_such_channel");
                false
            }
        }
    }
}

/// The answers of every operation on a channel.
async fn everything(who: &Caller, id: &str, query: &str) -> Vec<Response> {
    let event = json!({"kind": "log", "payload": {}});
    let path = |rest: &str| format!("/agent-channel/{id}{rest}{query}");
    vec![
        who.get(&path("")).await,
        who.get(&path("/spec")).await,
        who.get(&path("/state")).await,
        who.get(&path("/events")).await,
        who.get(&path("/events/stream")).await,
        who.get(&path("/presence")).await,
        who.post(&path("/event"), event.clone()).await,
        who.post(&path("/event"), json!({"kind": 7})).await,
        who.post(&format!("/agent-channel/{id}/event?validate=1{}", query.replace('?', "&")), event).await,
        who.post_empty(&path("/close")).await,
        who.post_empty(&path("/key")).await,
    ]
}

/// Every operation answers for the channel as for one that there is not, to the byte.
async fn is_absent(who: &Caller, made: &Made, query: &str) {
    let (theirs, nobodys) = (everything(who, &made.id, query).await, everything(who, "ZZZZ", query).await);
    for (foreign, absent) in theirs.iter().zip(&nobodys) {
        refused(foreign, 404, "no_such_channel");
        let names = |response: &Response| {
            let mut headers = response.headers.clone();
            headers.retain(|(name, _)| name != "date");
            headers
        };
        assert_eq!(names(foreign), names(absent));
        assert_eq!(foreign.body, absent.body, "foreign and absent are one answer");
    }
}

async fn allow(server: &Server, agent: &str, entry: &str) {
    let path = format!("/_admin/agents/{agent}/allowlist");
    server.operator().post(&path, json!({"entries": [entry]})).await.ok(200);
}

async fn disallow(server: &Server, agent: &str, entry: &str) {
    let path = format!("/_admin/agents/{agent}/allowlist/{entry}");
    server.operator().delete(&path).await.ok(200);
}

#[tokio::test]
async fn d_6_a_foreign_channel_is_absent_to_the_byte() {
    let server = Server::start().await;
    let (ann, bob) = (server.agent("@nick.ann").await, server.closed_agent("@acme.bob", &[]).await);
    let made = Made::by(&ann).await;
    append(&ann, &made.id, "spec", json!({"mission": "m"})).await;
    is_absent(&bob, &made, "").await;
    let (other, blocked) = (server.owner("other").await, server.agent("@mallory.bot").await);
    is_absent(&other, &made, "").await;
    is_absent(&other, &made, "?key=0af7651916cd43dd8448eb211c80319c").await;
    server.block(&ann, "@mallory.bot").await;
    is_absent(&blocked, &made, &format!("?key={}", made.key())).await;
    for who in [&server.operator(), &ann as &Caller] {
        assert!(made.shown_to(who).await);
    }
    assert_eq!(
        ann.get(&made.path("/events")).await.ok(200).as_array().map(Vec::len),
        Some(1),
        "nothing was written"
    );
}

#[tokio::test]
async fn d_6_its_owner_and_its_agents_need_no_key() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let ann = server.closed_agent("@nick.ann", &[]).await;
    let sibling = server.closed_agent("@nick.other", &[]).await;
    let made = Made::by(&ann).await;
    for who in [&owner, &sibling as &Caller] {
        append(who, &made.id, "log", json!({})).await;
        let view = who.get(&made.path("")).await.ok(200);
        assert_eq!(Made::of(&view["channel"]).link, made.link, "its link is shown to who may read");
        assert_eq!(who.get("/agent-channel").await.ok(200)[0]["url"], view["channel"]["url"]);
    }
    server.block(&ann, "@nick.other").await;
    assert!(!made.shown_to(&sibling).await, "a block holds within an owner too");
    assert!(sibling.get("/agent-channel").await.ok(200).as_array().is_some_and(Vec::is_empty));
}

#[tokio::test]
async fn d_6_trust_decides_by_the_lists_of_both() {
    let server = Server::start().await;
    let ann = server.closed_agent("@nick.ann", &[]).await;
    let bob = server.closed_agent("@acme.bob", &[]).await;
    let made = Made::by(&ann).await;
    assert!(!made.shown_to(&bob).await);
    allow(&server, "@nick.ann", "@acme.bob").await;
    assert!(!made.shown_to(&bob).await, "the reader's own list must name the creator");
    allow(&server, "@acme.bob", "@nick.*").await;
    assert!(made.shown_to(&bob).await);
    append(&bob, &made.id, "comms", json!({"text": "hello"})).await;
    assert_eq!(bob.get("/agent-channel").await.ok(200)[0]["id"], made.id.as_str());
    disallow(&server, "@nick.ann", "@acme.bob").await;
    assert!(!made.shown_to(&bob).await, "what trust opened, it closes");
    let response = bob.post(&made.path("/event"), json!({"kind": "log", "payload": {}})).await;
    refused(&response, 404, "no_such_channel");
    assert!(
        bob.get("/agent-channel").await.ok(200).as_array().is_some_and(Vec::is_empty),
        "nor is it listed"
    );
    // What an owner's token created, no agent's trust opens.
    let owner = server.owner("carol").await;
    let open = server.agent("@acme.open").await;
    assert!(!Made::by(&owner).await.shown_to(&open).await);
}

#[tokio::test]
async fn d_6_the_key_is_needed_once_for_an_owner_and_survives_a_crash() {
    let mut server = Server::start().await;
    let ann = server.closed_agent("@nick.ann", &[]).await;
    let (bob, mate) =
        (server.closed_agent("@acme.bob", &[]).await, server.closed_agent("@acme.mate", &[]).await);
    let made = Made::by(&ann).await;
    assert!(!made.shown_to(&bob).await && !made.shown_to(&mate).await);
    let event = json!({"kind": "comms", "payload": {"text": "by the link"}});
    let sent = bob.post(&made.path(&format!("/event?key={}", made.key())), event).await.ok(200);
    assert_eq!((&sent["via"], &sent["author"]), (&json!("@acme.bob"), &json!("@acme.bob")));
    server.crash().await;
    for who in [&bob, &mate] {
        assert!(made.shown_to(who).await, "remembered for the owner, without the key");
    }
    let events = ann.get(&made.path("/events")).await.ok(200);
    assert_eq!(events.as_array().map(Vec::len), Some(1), "to be admitted is none of the events");
    let eve = server.closed_agent("@eve.bot", &[]).await;
    let reads = ["", "/events", "/presence"];
    for (nth, rest) in reads.into_iter().enumerate() {
        let reader = server.closed_agent(&format!("@reader{nth}.bot"), &[]).await;
        reader.get(&made.path(&format!("{rest}?key={}", made.key()))).await.ok(200);
        reader.get(&made.path(rest)).await.ok(200);
    }
    for wrong in ["", "x", &made.key().to_uppercase(), "0af7651916cd43dd8448eb211c80319c"] {
        if wrong != made.key() {
            refused(&eve.get(&made.path(&format!("?key={wrong}"))).await, 404, "no_such_channel");
        }
    }
}

#[tokio::test]
async fn d_6_its_owner_changes_the_key_and_who_was_admitted_stays() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let ann = server.closed_agent("@nick.ann", &[]).await;
    let (bob, eve) =
        (server.closed_agent("@acme.bob", &[]).await, server.closed_agent("@eve.bot", &[]).await);
    let made = Made::by(&ann).await;
    bob.get(&made.link).await.ok(200);
    refused(&bob.post_empty(&made.path("/key")).await, 403, "not_its_owner");
    let call = async |who: &Caller, key: &str| {
        who.call("POST", &made.path("/key"), &[("Idempotency-Key", key)], None).await
    };
    let changed = call(&owner, "k").await;
    let again = call(&owner, "k").await;
    assert_eq!((again.status, &again.body), (200, &changed.body), "the same request, the same key");
    let changed = Made::of(&changed.json());
    assert_ne!(changed.key(), made.key());
    refused(&eve.get(&made.link).await, 404, "no_such_channel");
    assert!(made.shown_to(&bob).await, "who was admitted stays");
    eve.get(&changed.link).await.ok(200);
    for who in [&ann as &Caller, &server.operator()] {
        let next = Made::of(&who.post_empty(&made.path("/key")).await.ok(200));
        assert_ne!(next.key(), changed.key());
    }
}

#[tokio::test]
async fn d_6_a_new_key_can_end_the_access_of_owners_that_used_an_earlier_one() {
    let server = Server::start().await;
    let (ann, bob) =
        (server.closed_agent("@nick.ann", &[]).await, server.closed_agent("@acme.bob", &[]).await);
    let made = Made::by(&ann).await;
    bob.get(&made.link).await.ok(200);
    let mut stream = Stream::open(&bob, &made.path("/events/stream"), &[]).await;
    refused(&ann.post_empty(&made.path("/key?revoke=perhaps")).await, 422, "invalid_revoke");
    assert!(made.shown_to(&bob).await);
    let changed = Made::of(&ann.post_empty(&made.path("/key?revoke=true")).await.ok(200));
    is_absent(&bob, &made, &format!("?key={}", made.key())).await;
    assert!(!made.shown_to(&bob).await);
    append(&ann, &made.id, "note", json!({"text": "for the others"})).await;
    assert!(stream.ending().await.is_empty(), "its stream ends before the next event");
    bob.get(&changed.link).await.ok(200);
}

#[tokio::test]
async fn d_6_whoever_may_only_read_does_not_see_the_key() {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let made = Made::by(&ann).await;
    let bearer = async |scope: &str| {
        let token = ann.post("/agents/me/tokens", json!({"scope": scope})).await.ok(201);
        server.bearer(token["token"].as_str().expect("a token"))
    };
    for (scope, shows_key) in [
        ("read", false),
        ("channels:read", false),
        ("write", true),
        ("channels:write", true),
        (&format!("channels:write channel:{}", made.id), true),
    ] {
        let reader = bearer(scope).await;
        let view = reader.get(&made.path("")).await;
        assert_eq!(view.ok(200)["channel"]["url"].to_string().contains(made.key()), shows_key, "{scope}");
        assert_eq!(view.text().contains(made.key()), shows_key, "{scope}");
        let list = reader.get("/agent-channel").await;
        assert_eq!(list.status == 200 && list.text().contains(made.key()), shows_key && !scope.contains(' '));
    }
}

/// Who may only read reads with the key, each time, and opens the channel to no other agent of its owner.
#[tokio::test]
async fn d_6_a_key_shown_by_a_reader_admits_nobody_else() {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let (bob, mate) =
        (server.closed_agent("@acme.bob", &[]).await, server.closed_agent("@acme.mate", &[]).await);
    let token = bob.post("/agents/me/tokens", json!({"scope": "channels:read"})).await.ok(201);
    let reader = server.bearer(token["token"].as_str().expect("a token"));
    let viewer = sign_in(&server, &server.owner("acme").await, json!({"role": "viewer"})).await;
    let made = Made::by(&ann).await;
    append(&ann, &made.id, "spec", json!({"mission": "m"})).await;
    for path in ["", "/spec", "/events"] {
        let keyed = made.path(&format!("{path}?key={}", made.key()));
        for read in [reader.get(&keyed).await, viewer.get(&keyed).await] {
            assert_eq!(read.status, 200, "{read}");
        }
        refused(&reader.get(&made.path(path)).await, 404, "no_such_channel");
        assert!(!made.shown_to(&mate).await && !made.shown_to(&bob).await);
    }
    assert_eq!(bob.get(&made.link).await.status, 200);
    assert!(made.shown_to(&mate).await && made.shown_to(&reader).await);
}

#[tokio::test]
async fn d_6_a_block_ends_what_a_key_or_trust_opened() {
    let (server, [ann, bob, mate]) = Server::with(["@nick.ann", "@acme.bob", "@acme.mate"]).await;
    let made = Made::by(&ann).await;
    let (keyed, body) =
        (made.path(&format!("/event?key={}", made.key())), json!({"kind": "log", "payload": {}}));
    let sent = [("Idempotency-Key", "once")];
    let once = async || bob.call("POST", &keyed, &sent, Some(&body)).await;
    once().await.ok(200);
    server.block(&ann, "@acme.bob").await;
    refused(&once().await, 404, "no_such_channel");
    is_absent(&bob, &made, &format!("?key={}", made.key())).await;
    assert!(made.shown_to(&mate).await, "a block is between two agents");
    server.block(&mate, "@nick.ann").await;
    is_absent(&mate, &made, &format!("?key={}", made.key())).await;
}

/// Whom a creator blocked stays blocked at its channels when the creator is deleted, whatever key it shows.
#[tokio::test]
async fn d_6_the_blocks_of_a_deleted_creator_hold_at_its_channels() {
    let (mut server, [ann, bob, mate]) = Server::with(["@nick.ann", "@acme.bob", "@acme.mate"]).await;
    let made = Made::by(&ann).await;
    mate.get(&made.link).await.ok(200);
    server.block(&ann, "@acme.bob").await;
    server.operator().delete("/_admin/agents/@nick.ann").await.ok(204);
    for restarted in [false, true] {
        if restarted {
            server.crash().await;
        }
        is_absent(&bob, &made, &format!("?key={}", made.key())).await;
        is_absent(&bob, &made, "").await;
        assert!(made.shown_to(&mate).await, "whoever it did not block and who has shown the key");
    }
}

/// A live stream ends within a second when the right to it does, whichever side ends it.
#[tokio::test]
async fn d_6_a_live_stream_ends_with_the_right_to_it() {
    let server = Server::start().await;
    let ann = server.closed_agent("@nick.ann", &["@acme.*"]).await;
    let operator = server.operator();
    let made = Made::by(&ann).await;
    let ways = ["creator blocks", "reader blocks", "creator's list", "reader's list", "reader deleted"];
    for (nth, way) in ways.into_iter().enumerate() {
        let handle = format!("@acme.bob{nth}");
        let bob: Agent = server.closed_agent(&handle, &["@nick.*"]).await;
        let mut stream = Stream::open(&bob, &made.path("/events/stream"), &[]).await;
        assert!(matches!(stream.next().await, Sent::Id(_)));
        match way {
            "creator blocks" => server.block(&ann, &handle).await,
            "reader blocks" => server.block(&bob, "@nick.ann").await,
            "creator's list" => disallow(&server, "@nick.ann", "@acme.*").await,
            "reader's list" => disallow(&server, &handle, "@nick.*").await,
            _ => drop(operator.delete(&format!("/_admin/agents/{handle}")).await.ok(204)),
        }
        append(&ann, &made.id, "log", json!({"way": way})).await;
        assert_eq!(stream.next().await, Sent::End, "{way}: it ends, and tells nothing more");
        allow(&server, "@nick.ann", "@acme.*").await;
    }
}

#[tokio::test]
async fn d_6_where_no_token_is_needed_a_channel_with_an_owner_needs_its_key() {
    let (server, _directory) = configured("[channels]\nopen = true").await;
    let (anyone, ann) = (server.stranger(), server.agent("@nick.ann").await);
    let (theirs, nobodys) = (Made::by(&ann).await, Made::by(&anyone).await);
    is_absent(&anyone, &theirs, "").await;
    assert!(nobodys.shown_to(&anyone).await && nobodys.shown_to(&ann).await);
    let listed = anyone.get("/agent-channel").await.ok(200);
    assert_eq!(
        listed.as_array().map(|all| all.iter().map(|one| one["id"].clone()).collect()),
        Some(vec![json!(nobodys.id)])
    );
    let view = anyone.get(&theirs.link).await.ok(200);
    let command = view["participate"]["read_events"].as_str().expect("a command");
    assert!(command.contains(theirs.key()), "who is not remembered shows the key each time: {command}");
    refused(&anyone.get(&theirs.path("")).await, 404, "no_such_channel");
    for _ in 0..2 {
        append(&anyone, &nobodys.id, "log", json!({})).await;
        let event = json!({"kind": "log", "payload": {}});
        anyone.post(&theirs.path(&format!("/event?key={}", theirs.key())), event).await.ok(200);
    }
    let pages = anyone.get(&theirs.path(&format!("/events?limit=1&key={}", theirs.key()))).await;
    assert!(pages.header("link").is_some_and(|link| link.contains(theirs.key())), "{pages}");
    let path = theirs.path(&format!("/events/stream?key={}", theirs.key()));
    let mut stream = Stream::open(&anyone, &path, &[]).await;
    assert!(matches!(stream.next().await, Sent::Id(_)));
    ann.post_empty(&theirs.path("/key")).await.ok(200);
    assert_eq!(stream.next().await, Sent::End, "the former key opens nothing");
    refused(&anyone.post_empty(&nobodys.path("/key")).await, 403, "not_its_owner");
}

/// Agents and tokens of one owner have one budget of misses together, and a miss tells nothing of what there is.
#[tokio::test]
async fn d_6_guessing_is_budgeted_for_an_owner_whatever_its_tokens() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let ann = server.agent("@nick.ann").await;
    let sibling = server.agent("@nick.other").await;
    let (bob, closed) = (server.agent("@acme.bob").await, server.closed_agent("@acme.closed", &[]).await);
    let (trusted, foreign, linked) = (Made::by(&bob).await, Made::by(&closed).await, Made::by(&closed).await);
    let mine = Made::by(&ann).await;
    for n in 0..30 {
        let id = if n % 2 == 0 { "ZZZZ" } else { &foreign.id };
        refused(&ann.get(&format!("/agent-channel/{id}")).await, 404, "no_such_channel");
    }
    let rotated = server.operator().post_empty("/_admin/agents/@nick.ann/rotate-token").await.ok(200);
    let ann = server.bearer(rotated["token"].as_str().expect("a token"));
    for who in [&ann, &sibling, &owner] {
        for _ in 0..10 {
            refused(&who.post_empty("/agent-channel/ZZZZ/close").await, 404, "no_such_channel");
        }
    }
    for who in [&ann, &sibling, &owner] {
        for id in ["ZZZZ", &foreign.id] {
            refused(&who.get(&format!("/agent-channel/{id}")).await, 429, "too_many_misses");
        }
        append(who, &mine.id, "log", json!({})).await;
    }
    // Trust says yes for any id that is guessed right, so it waits; the link goes in at once.
    refused(&ann.get(&trusted.path("")).await, 429, "too_many_misses");
    ann.get(&linked.link).await.ok(200);
    ann.get(&linked.path("")).await.ok(200);
    refused(&bob.get("/agent-channel/ZZZZ").await, 404, "no_such_channel");
}

/// What stands in a channel is news for whom it names as long as the channel is open to it.
#[tokio::test]
async fn d_6_who_may_not_read_a_channel_is_told_nothing_of_it() {
    let (server, [ann, friend]) = Server::with(["@nick.ann", "@acme.friend"]).await;
    let bob = server.closed_agent("@acme.bob", &["@acme.friend"]).await;
    let made = Made::by(&ann).await;
    append(&friend, &made.id, "comms", json!({"text": "@acme.bob look"})).await;
    let unread = async || bob.get("/inbox").await.ok(200)["unread"].clone();
    assert_eq!(unread().await, 0, "the creator is not on its list");
    bob.get(&made.link).await.ok(200);
    let told = eventually("it is news now", || async {
        let inbox = bob.get("/inbox").await.ok(200);
        (inbox["unread"] == 1).then_some(inbox)
    });
    assert_eq!(told.await["items"][0]["text"], "@acme.bob look");
    server.block(&ann, "@acme.bob").await;
    assert_eq!(unread().await, 0, "a block between it and the creator");
}
