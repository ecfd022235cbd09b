//! A project followed live: everything that happens in it, in one order, without gaps, and no longer than one may.
//! AP-78, D.7 (`realtime`).

use blackbox::{Agent, Caller, Database, Server, TestDependency, eventually, in_time, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{PROJECT, assert_fact, deposited, desk, facts_of, package, package_with};
use crate::sse::{Sent, Stream};

fn path(query: &str) -> String {
    format!("/v1/projects/{PROJECT}/events{query}")
}

fn project(of: &str) -> String {
    format!("/v1/projects/{PROJECT}{of}")
}

/// A server with an owner and its agent.
async fn owned() -> (Server, Caller, Agent) {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let nick = server.agent("@nick.cc-laptop").await;
    (server, owner, nick)
}

/// The types of the next so many events.
async fn types(stream: &mut Stream, count: usize) -> Vec<String> {
    let mut types = Vec::new();
    for _ in 0..count {
        types.push(stream.event().await["type"].as_str().expect("a type").to_owned());
    }
    types
}

/// The next event with its id.
async fn next(stream: &mut Stream) -> (u64, Value) {
    loop {
        match stream.next().await {
            Sent::Event(id, event) => return (id, event),
            Sent::Id(_) | Sent::Comment(_) => {}
            end @ (Sent::End | Sent::Broken) => panic!("the stream is over: {end:?}"),
        }
    }
}

/// Ids up to and with the event that has this type.
async fn until(stream: &mut Stream, last: &str) -> Vec<(u64, Value)> {
    let mut heard = Vec::new();
    loop {
        heard.push(next(stream).await);
        if heard.last().is_some_and(|(_, event)| event["type"] == last) {
            return heard;
        }
    }
}

/// D.7: a package comes as it is read, with its hash, at every step that it takes.
#[tokio::test]
async fn ap_78_packages_are_told_as_they_are_read() {
    let (_server, nick) = desk().await;
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    let mut stream = Stream::open(&nick, &path(""), &[]).await;
    assert!(stream.head.to_lowercase().contains("content-type: text/event-stream"), "{}", stream.head);
    assert_eq!(stream.next().await, Sent::Id(1), "where to resume is known before the first event");
    let members = json!({"status": "draft", "x-a": {"n": 1.50, "t": "a\r\nb"}, "description": "é\u{2028}"});
    deposited(&nick, &package_with(&nick.handle, "one", members)).await;
    let read = nick.get("/v1/packages/one").await.ok(200);
    let (id, event) = next(&mut stream).await;
    assert_eq!((id, &event["type"], &event["package"]), (2, &json!("package.deposited"), &read));
    assert_eq!((&event["project_id"], &event["by"]), (&json!(PROJECT), &json!(nick.handle)));
    assert!(event["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{event}");
    let flag = json!({"review_type": "human", "note": "look"});
    let flagged = nick.post("/v1/packages/one/flag", flag).await.ok(200);
    let reviewed = nick.post("/v1/packages/one/review", json!({"status": "complete"})).await.ok(200);
    let (_, event) = next(&mut stream).await;
    assert_eq!((&event["type"], &event["package"]), (&json!("package.status_changed"), &flagged));
    assert_eq!(
        (&event["action"], &event["from"], &event["note"]),
        (&json!("flag"), &json!("draft"), &json!("look"))
    );
    let (id, event) = next(&mut stream).await;
    assert_eq!((id, &event["package"], &event["note"]), (4, &reviewed, &json!(null)));
    // What was told stays as it was, whatever the package has become.
    let mut again = Stream::open(&nick, &path("?after=2"), &[]).await;
    assert_eq!(next(&mut again).await.1["package"], flagged);
}

/// D.7: facts as they are read: what ends comes before what takes its place.
#[tokio::test]
async fn ap_48_facts_are_told_as_they_are_read() {
    let (_server, nick) = desk().await;
    let fact = |value: &str| json!({"subject": "s/1", "predicate": "p", "value": value, "x-a": 1.0});
    let first = assert_fact(&nick, fact("1")).await;
    let second = assert_fact(&nick, fact("2")).await;
    nick.delete(&format!("{}?subject=s/1&predicate=p", facts_of(PROJECT))).await.ok(200);
    let all = nick.get(&format!("{}?include_ended=true", facts_of(PROJECT))).await.ok(200)["facts"].clone();
    let mut stream = Stream::open(&nick, &path("?after=0"), &[]).await;
    let heard = until(&mut stream, "fact.invalidated").await;
    let told: Vec<_> =
        heard.iter().map(|(_, event)| (event["type"].clone(), event["fact"].clone())).collect();
    assert_eq!(
        told,
        [
            (json!("project.created"), json!(null)),
            (json!("fact.asserted"), first),
            (json!("fact.superseded"), all[0].clone()),
            (json!("fact.asserted"), second),
            (json!("fact.invalidated"), all[1].clone()),
        ]
    );
    assert_eq!(heard.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2, 3, 4, 5], "one number each");
}

/// D.7: sessions, and what becomes of the project itself.
#[tokio::test]
async fn ap_15_sessions_and_the_project_are_told_of() {
    let (_server, owner, nick) = owned().await;
    let made = nick.post("/v1/projects", json!({"project_id": PROJECT, "name": "n"})).await.ok(201);
    let started = nick.post(&project("/sessions"), json!({})).await.ok(201);
    let session = format!("/sessions/{}", started["session_id"].as_str().expect("an id"));
    let ended = nick.patch(&project(&session), json!({})).await.ok(200);
    nick.patch(&project(""), json!({"description": "d"})).await.ok(200);
    owner.put(&project("/members/@acme.*"), json!({"role": "writer"})).await.ok(200);
    owner.delete(&project("/members/@acme.*")).await;
    let archived = owner.post_empty(&project("/archive")).await.ok(200);
    owner.post_empty(&project("/unarchive")).await.ok(200);
    let mut stream = Stream::open(&nick, &path("?after=0"), &[]).await;
    let heard = until(&mut stream, "project.unarchived").await;
    let of =
        |name: &str| heard.iter().find(|(_, event)| event["type"] == name).expect("it is told").1.clone();
    assert_eq!(of("project.created")["project"], made);
    assert_eq!(of("session.started")["session"], started);
    assert_eq!(of("session.ended")["session"], ended);
    assert_eq!(of("project.updated")["changed"], json!({"description": "d"}));
    let set = of("project.member_set");
    assert_eq!(
        (&set["member"], &set["role"], &set["by"]),
        (&json!("@acme.*"), &json!("writer"), &json!("~nick"))
    );
    assert_eq!(of("project.member_removed")["member"], "@acme.*");
    assert_eq!(of("project.archived")["archived_at"], archived["archived_at"]);
    assert_eq!(of("project.unarchived")["archived_at"], json!(null));
    assert_eq!(heard.len(), 8);
}

/// `Last-Event-ID` wins over `?after=`; `?types=` takes names and families; ids count what is left out.
#[tokio::test]
async fn ap_78_it_goes_on_behind_an_id_with_what_is_wanted() {
    let (_server, nick) = desk().await;
    for number in 0..200 {
        deposited(&nick, &package(&nick.handle, &format!("p{number}"))).await;
        if number % 10 == 0 {
            assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": number.to_string()})).await;
        }
    }
    let mut whole = Stream::open(&nick, &path("?after=0"), &[]).await;
    let mut all = Vec::new();
    for wanted in 1..=240 {
        let (id, event) = next(&mut whole).await;
        assert_eq!(id, wanted, "no gap");
        all.push(event);
    }
    let mut resumed = Stream::open(&nick, &path("?after=0"), &[("Last-Event-ID", "230")]).await;
    for event in &all[230..] {
        assert_eq!(next(&mut resumed).await.1, *event);
    }
    let facts = |event: &&Value| event["type"].as_str().is_some_and(|name| name.starts_with("fact."));
    let mut of_facts = Stream::open(&nick, &path("?after=100&types=fact"), &[]).await;
    for event in all[100..].iter().filter(facts) {
        assert_eq!(next(&mut of_facts).await.1, *event);
    }
    let mut two = Stream::open(&nick, &path("?after=0&types=fact.superseded,project.created"), &[]).await;
    assert_eq!(types(&mut two, 3).await, ["project.created", "fact.superseded", "fact.superseded"]);
    let mut ahead = Stream::open(&nick, &path("?after=99999999"), &[]).await;
    assert_eq!(ahead.next().await, Sent::Id(240), "nobody has more than there is");
}

/// What can't be read is refused, and what one may not read is not there.
#[tokio::test]
async fn ap_101_who_may_not_read_may_not_follow() {
    let (server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let stranger = server.agent("@mallory.bot").await;
    stranger.get(&path("?after=0")).await.assert_refused(404, "project_not_found");
    nick.get("/v1/projects/none/events").await.assert_refused(404, "project_not_found");
    assert_eq!(server.stranger().get(&path("")).await.status, 401);
    for query in [
        "?after=x",
        "?after=-1",
        "?after=99999999999999999999",
        "?after=",
        "?types=",
        "?types=facts",
        "?types=fact,",
        "?after=1&after=2",
    ] {
        nick.get(&path(query)).await.assert_refused(400, "invalid_parameter");
    }
    let header = [("Last-Event-ID", "one")];
    nick.call("GET", &path(""), &header, None).await.assert_refused(400, "invalid_parameter");
}

/// AP-8, 0.4 #13: a draft is told to its own actor; to the others, once it is none.
#[tokio::test]
async fn ap_8_drafts_are_told_to_their_own_actor() {
    let (server, nick) = desk().await;
    let other = server.agent("@nick.other").await;
    deposited(&nick, &package(&nick.handle, "before")).await;
    let open = async |who: &Caller| Stream::open(who, &path("?after=2"), &[]).await;
    let (mut own, mut others) = (open(&nick).await, open(&other).await);
    deposited(&nick, &package_with(&nick.handle, "draft", json!({"status": "draft"}))).await;
    let done = nick.post("/v1/packages/draft/review", json!({"status": "complete"})).await.ok(200);
    let (id, event) = next(&mut others).await;
    assert_eq!((id, &event["type"], &event["package"]), (4, &json!("package.status_changed"), &done));
    assert_eq!(types(&mut own, 2).await, ["package.deposited", "package.status_changed"]);
}

/// Streams that are opened while others write: no gap and no repeat at the seam.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_78_there_is_no_seam_between_before_and_after() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "first")).await;
    let writes = async {
        let write = async |name: &str| {
            for number in 0..60 {
                deposited(&nick, &package(&nick.handle, &format!("{name}{number}"))).await;
            }
        };
        tokio::join!(write("a"), write("b"));
        nick.post(&project("/sessions"), json!({})).await.ok(201);
    };
    let read = async || {
        let mut stream = Stream::open(&nick, &path("?after=0"), &[]).await;
        until(&mut stream, "session.started").await
    };
    let (heard, ()) = tokio::join!(join_all((0..6).map(|_| read())), writes);
    for heard in &heard {
        let ids: Vec<u64> = heard.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, (1..=123).collect::<Vec<_>>());
    }
    assert!(heard.windows(2).all(|pair| pair[0] == pair[1]), "everybody hears the same");
}

/// A client that resumes after a crash of the server misses nothing.
#[tokio::test]
async fn ap_78_it_resumes_after_a_crash() {
    let (mut server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "zero")).await;
    let mut stream = Stream::open(&nick, &path(""), &[]).await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let (first, _) = next(&mut stream).await;
    deposited(&nick, &package(&nick.handle, "two")).await;
    server.crash().await;
    let mut stream = Stream::open(&nick, &path(""), &[("Last-Event-ID", &first.to_string())]).await;
    let (id, event) = next(&mut stream).await;
    assert_eq!((id, &event["package"]["package_id"]), (first + 1, &json!("two")));
    deposited(&nick, &package(&nick.handle, "three")).await;
    assert_eq!(next(&mut stream).await.1["package"]["package_id"], "three");
}

/// D.1: a token that dies, and a role that goes, take their streams with them within a second; others go on.
#[tokio::test]
async fn ap_101_a_stream_ends_with_the_right_to_it() {
    let (server, owner, nick) = owned().await;
    let (guest, reader) = (server.agent("@guest.bot").await, server.agent("@acme.bot").await);
    deposited(&nick, &package(&nick.handle, "one")).await;
    for member in ["@guest.bot", "@acme.*"] {
        owner.put(&project(&format!("/members/{member}")), json!({"role": "reader"})).await.ok(200);
    }
    let open = async |who: &Caller| Stream::open(who, &path("?types=package"), &[]).await;
    let (mut nicks, mut guests, mut readers) = (open(&nick).await, open(&guest).await, open(&reader).await);
    owner.delete(&project("/members/@guest.bot")).await;
    assert!(in_time("the stream of a guest that may not read ends", guests.ending()).await.is_empty());
    guest.get(&path("")).await.assert_refused(404, "project_not_found");
    server.operator().post_empty("/_admin/agents/@acme.bot/rotate-token").await.ok(200);
    assert!(in_time("the stream of a dead token ends", readers.ending()).await.is_empty());
    deposited(&nick, &package(&nick.handle, "two")).await;
    assert_eq!(nicks.event().await["package"]["package_id"], "two");
}

/// D.1: a browser can't set headers on an EventSource; a ticket opens it once.
#[tokio::test]
async fn ap_78_a_ticket_opens_a_stream() {
    let (server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let ticket = nick.post_empty("/auth/ticket").await.ok(200);
    let path = path(&format!("?after=1&ticket={}", ticket["ticket"].as_str().expect("a ticket")));
    let stranger = server.stranger();
    let mut stream = Stream::open(&stranger, &path, &[]).await;
    assert_eq!(stream.event().await["type"], "package.deposited");
    assert_eq!(stranger.get(&path).await.status, 401);
}

/// A server that stops ends its streams whole, readers that never read hold nobody up and cost little.
#[tokio::test]
async fn ap_78_stalled_readers_cost_little_and_a_stop_ends_all() {
    let (mut server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let mut stalled = Vec::new();
    for _ in 0..40 {
        stalled.push(Stream::open(&nick, &path("?after=0"), &[]).await);
    }
    let mut reading = Stream::open(&nick, &path(""), &[]).await;
    let before = server.resident_kib();
    for number in 0..60 {
        let members = json!({"description": "y".repeat(100_000)});
        deposited(&nick, &package_with(&nick.handle, &format!("p{number}"), members)).await;
        assert_eq!(reading.event().await["package"]["package_id"], format!("p{number}"));
    }
    // Forty queues of sixty such events would be 240 MB.
    eventually("memory settles", || async {
        (server.resident_kib().saturating_sub(before) < 120 * 1024).then_some(())
    })
    .await;
    server.stop().await;
    assert!(reading.ending().await.is_empty());
}

/// Past its limit a token opens no more streams; one that is closed makes room.
#[tokio::test]
async fn ap_78_a_token_has_so_many_streams_and_no_more() {
    let (server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(Stream::open(&nick, &path(""), &[]).await);
    }
    let late = nick.get(&path("")).await;
    late.assert_refused(429, "too_many_streams");
    assert!(late.header("retry-after").is_some());
    let other = server.agent("@nick.other").await;
    Stream::open(&other, &path("?after=0"), &[]).await.event().await;
    open.pop();
    eventually("there is room", || async { Stream::try_open(&nick, &path(""), &[]).await.map(drop) }).await;
}

/// After 15 s without an event: a comment; with the place to resume at, where others have passed by.
#[tokio::test]
async fn ap_78_an_idle_stream_says_that_it_is_alive() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let mut all = Stream::open(&nick, &path(""), &[]).await;
    let mut facts = Stream::open(&nick, &path("?types=fact"), &[]).await;
    assert_eq!((all.next().await, facts.next().await), (Sent::Id(2), Sent::Id(2)));
    deposited(&nick, &package(&nick.handle, "two")).await;
    assert_eq!(next(&mut all).await.0, 3);
    assert_eq!(facts.next().await, Sent::Id(3));
    assert_eq!(all.next().await, Sent::Comment("keepalive".into()));
}

/// Two processes on one PostgreSQL: one order, the same at both, and one wakes the readers of the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_78_two_processes_tell_one_story() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (a, b) = tokio::join!(start(), start());
    let owner = a.owner("nick").await;
    let (nick, guest) = (a.agent("@nick.cc-laptop").await, a.agent("@guest.bot").await);
    let nick_b = nick.at(&b);
    deposited(&nick, &package(&nick.handle, "first")).await;
    owner.put(&project("/members/@guest.bot"), json!({"role": "reader"})).await.ok(200);
    let (mut on_a, mut on_b) = (
        Stream::open(&nick, &path("?after=0"), &[]).await,
        Stream::open(&nick_b, &path("?after=0"), &[]).await,
    );
    let each = rounds(60, 15);
    let write = async |who: &Caller, name: &str| {
        for number in 0..each {
            deposited(who, &package(&nick.handle, &format!("{name}{number}"))).await;
            assert_fact(who, json!({"subject": name, "predicate": "p", "value": number.to_string()})).await;
        }
    };
    let writing = async {
        tokio::join!(write(&nick, "a"), write(&nick_b, "b"));
        nick_b.post(&project("/sessions"), json!({})).await.ok(201);
    };
    let reading =
        async { tokio::join!(until(&mut on_a, "session.started"), until(&mut on_b, "session.started")) };
    let ((), (heard_a, heard_b)) = tokio::join!(writing, reading);
    assert_eq!(heard_a, heard_b);
    let ids: Vec<u64> = heard_a.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, (1..=u64::try_from(ids.len()).expect("a count")).collect::<Vec<_>>());
    assert_eq!(ids.len(), 4 + 2 * (3 * each - 1));
    // What was written at one is told at the other, and so is a lost right.
    deposited(&nick, &package(&nick.handle, "last")).await;
    assert_eq!(next(&mut on_b).await.1["package"]["package_id"], "last");
    let guest_b = guest.at(&b);
    let mut guests = Stream::open(&guest_b, &path("?types=package"), &[]).await;
    owner.delete(&project("/members/@guest.bot")).await;
    assert!(in_time("the guest's stream ends", guests.ending()).await.is_empty());
    drop((a, b));
    database.remove().await;
}
