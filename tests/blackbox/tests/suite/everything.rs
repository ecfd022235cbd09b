//! `GET /search` over everything: only what the caller may read now is found, with its path, what matched and the reasons of
//! its rank; also after a restart and without the index.
//! Must not know: how the index is stored.

use blackbox::{Agent, Caller, Cli, Database, Server, TestDependency, assert_keys, eventually, room};
use serde_json::{Value, json};

/// What is found, in its order. The scores fall, each hit has what matched, and all of the log was searched.
async fn hits(caller: &Caller, query: &str) -> Vec<Value> {
    let page = caller.get(&format!("/search?{query}")).await.ok(200);
    assert_eq!(page["complete"], true, "{page}");
    let hits = page["hits"].as_array().expect("hits").clone();
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().expect("a score")).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{page}");
    hits
}

/// The texts that are shown.
async fn texts(caller: &Caller, query: &str) -> Vec<String> {
    let text = |hit: &Value| hit["snippet"]["text"].as_str().expect("a text").to_owned();
    let mut texts: Vec<String> = hits(caller, query).await.iter().map(text).collect();
    texts.sort();
    texts
}

/// The rooms and kinds that are found, sorted.
async fn kinds(caller: &Caller, query: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let kind = |hit: &Value| format!("{}.{}", text(&hit["room"]), text(&hit["kind"]));
    let mut kinds: Vec<String> = hits(caller, query).await.iter().map(kind).collect();
    kinds.sort();
    kinds
}

/// What matched, as it stands in the snippet.
fn matched(hit: &Value) -> Vec<String> {
    let chars: Vec<char> = hit["snippet"]["text"].as_str().expect("a text").chars().collect();
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("small");
    let ranges = hit["snippet"]["matches"].as_array().expect("ranges");
    ranges.iter().map(|range| chars[number(&range[0])..number(&range[1])].iter().collect()).collect()
}

async fn channel(who: &Caller) -> String {
    let made = who.post("/agent-channel", json!({"title": "The build"})).await.ok(200);
    made["id"].as_str().expect("an id").to_owned()
}

async fn append(who: &Caller, channel: &str, text: &str) {
    let body = json!({"kind": "log", "payload": {"text": text, "n": 7}});
    who.post(&format!("/agent-channel/{channel}/event"), body).await.ok(200);
}

async fn fact(who: &Caller, value: &str) {
    let body = json!({"subject": "parser", "predicate": "is made of", "value": value});
    who.post("/v1/projects/p/facts", body).await.ok(201);
}

async fn package(who: &Agent, id: &str, body: &str) {
    let package = json!({
        "package_id": id, "project_id": "p", "relay_version": "0.1", "title": "Parser", "status": "complete",
        "package_type": "standard", "review_type": "none", "created_at": "2026-04-18T20:00:00Z",
        "created_by": {"id": who.handle, "type": "agent"}, "content_md": body,
    });
    who.post("/v1/projects/p/packages", package).await.ok(201);
}

const ECHO: &str = "[agents.echo]\nowner = \"nick\"\npolicy = \"open\"\nkind = \"echo\"\n";

/// Each room's things are found, each with a path that reads it.
#[tokio::test]
async fn what_was_said_anywhere_is_found() {
    let server = Server::builder().config(ECHO).start().await;
    let (nick, ann) = (server.agent("@nick.bot").await, server.agent("@nick.ann").await);
    let session = room(&[&nick, &ann]).await;
    let sequence = nick.say(&session, "Über dem Haus: the kestrels nest").await;
    let at = channel(&nick).await;
    append(&nick, &at, "a kestrel built it").await;
    nick.post("/agent/echo/run", json!({"input": "Where is the kestrel?"})).await;
    fact(&nick, "kestrel feathers").await;
    package(&nick, "pkg_a", "What the kestrel left.").await;
    let all = ["channels.event", "context.fact", "context.package", "runs.input", "sessions.message"];
    eventually("everything is found", || async {
        let found = kinds(&nick, "q=kestrel").await;
        all.iter().all(|kind| found.iter().any(|found| found == kind)).then_some(())
    })
    .await;
    eventually("the run's answer is found", || async {
        kinds(&nick, "q=kestrel")
            .await
            .iter()
            .any(|kind| kind == "runs.output" || kind == "runs.result")
            .then_some(())
    })
    .await;
    let found = hits(&nick, "q=kestrel").await;
    for hit in &found {
        let needed = ["room", "kind", "id", "path", "reference", "at", "snippet", "score", "why"];
        assert_keys(hit, &needed, &["about", "by"]);
        let path = hit["path"].as_str().expect("a path");
        let read = nick.get(path).await.ok(200).to_string();
        assert!(read.contains("kestrel"), "{path}: {read}");
        assert!(matched(hit).iter().all(|word| word.starts_with("kestrel")), "{hit}");
        assert!(hit["why"]["words"].as_f64().is_some_and(|words| words > 0.0 && words <= 1.0), "{hit}");
    }
    let of = |kind: &str| found.iter().find(|hit| hit["kind"] == kind).expect("it is found").clone();
    let message = of("message");
    assert_eq!(message["reference"], json!({"session_id": session, "sequence": sequence}));
    assert_eq!((&message["by"], matched(&message)), (&json!("@nick.bot"), vec!["kestrels".to_owned()]));
    let event = of("event");
    assert_eq!((&event["reference"]["channel_id"], &event["about"]), (&json!(at), &json!("The build")));
    assert_eq!(of("fact")["about"], "parser is made of");
    assert_eq!(of("package")["reference"], json!({"project_id": "p", "package_id": "pkg_a"}));
    assert_eq!(of("input")["reference"]["agent"], "echo");
}

/// Only the room, the author and the time that are asked for.
#[tokio::test]
async fn a_search_is_narrowed_by_room_author_and_time() {
    let (_server, [nick, ann]) = Server::with(["@nick.bot", "@nick.ann"]).await;
    let session = room(&[&nick, &ann]).await;
    nick.say(&session, "a heron by nick").await;
    ann.say(&session, "a heron by ann").await;
    let at = channel(&nick).await;
    append(&nick, &at, "a heron on a channel").await;
    assert_eq!(hits(&nick, "q=heron").await.len(), 3);
    assert_eq!(kinds(&nick, "q=heron&room=channels").await, ["channels.event"]);
    assert_eq!(kinds(&nick, "q=heron&rooms=channels").await, ["channels.event"], "as `/watch` calls it");
    assert_eq!(hits(&nick, "q=heron&room=channels,sessions").await.len(), 3);
    assert_eq!(hits(&nick, "q=heron&room=channels&room=sessions").await.len(), 3);
    assert_eq!(hits(&nick, "q=heron&room=agents").await.len(), 0);
    assert_eq!(texts(&nick, "q=heron&who=@nick.ann").await, ["a heron by ann"]);
    assert_eq!(hits(&nick, "q=heron&who=@acme.ann").await.len(), 0);
    assert_eq!(hits(&nick, "q=heron&since=2020-01-01").await.len(), 3);
    assert_eq!(hits(&nick, "q=heron&since=2120-01-01").await.len(), 0);
    assert_eq!(hits(&nick, "q=heron&until=2020-01-01").await.len(), 0);
    // Agents are nobody's and of no time.
    let page = nick.get("/search?q=nick&who=@nick.ann").await.ok(200);
    assert_eq!(page["agents"], json!([]));
    let page = nick.get("/search?q=nick&room=sessions").await.ok(200);
    assert_eq!(page["agents"], json!([]));
    assert_eq!(nick.get("/search?q=nick").await.ok(200)["agents"].as_array().map(Vec::len), Some(2));
}

/// Pages bring each hit once, and the agents beside them.
#[tokio::test]
async fn hits_come_in_pages() {
    let (_server, [nick]) = Server::with(["@nick.osprey"]).await;
    let session = nick.create(&[]).await;
    for n in 0..7 {
        nick.say(&session, format!("osprey number{n}").as_str()).await;
    }
    let (mut seen, mut agents, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = nick.get(&format!("/search?q=osprey&limit=3{cursor}")).await.ok(200);
        let hits = page["hits"].as_array().expect("hits");
        assert!(hits.len() <= 3, "{page}");
        seen.extend(hits.iter().map(|hit| hit["id"].as_str().expect("an id").to_owned()));
        agents += page["agents"].as_array().expect("agents").len();
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len(), agents), (7, 7, 1));
}

/// ASP-70, ASP-80: of sessions only what one may read of them now: nothing of others' sessions, nothing from before one joined
/// as long as one has not, nothing that came after one left.
#[tokio::test]
async fn asp_70_asp_80_messages_are_found_by_who_may_read_them() {
    let (server, [alice, bob, eve]) = Server::with(["@alice.bot", "@bob.bot", "@eve.bot"]).await;
    let nothing = eve.get("/search?q=gnomes").await.fingerprint();
    let id = room(&[&alice, &bob]).await;
    alice.say(&id, "gnomes before").await;
    assert_eq!(texts(&bob, "q=gnomes").await, ["gnomes before"]);
    assert_eq!(eve.get("/search?q=gnomes").await.fingerprint(), nothing);
    alice.invite(&id, &["@eve.bot"]).await;
    assert_eq!(texts(&eve, "q=gnomes").await, [""; 0], "invited is not joined");
    bob.leave(&id).await;
    alice.say(&id, "gnomes after").await;
    assert_eq!(texts(&bob, "q=gnomes").await, ["gnomes before"]);
    eve.join(&id).await;
    assert_eq!(texts(&eve, "q=gnomes").await, ["gnomes after", "gnomes before"]);
    // An owner finds what its agents may read, by a path of its own; the operator everything.
    let owner = server.owner("bob").await;
    let found = hits(&owner, "q=gnomes").await;
    assert_eq!(found.len(), 1);
    let path = found[0]["path"].as_str().expect("a path");
    assert!(owner.get(path).await.ok(200).to_string().contains("gnomes before"), "{path}");
    assert_eq!(texts(&server.operator(), "q=gnomes").await.len(), 2);
    assert_eq!(texts(&server.owner("nobody").await, "q=gnomes").await, [""; 0]);
    // With its agent gone nobody reads for it.
    server.operator().delete("/_admin/agents/@bob.bot").await;
    assert_eq!(texts(&owner, "q=gnomes").await, [""; 0]);
}

/// ASP-12: a block makes an agent leave, and what comes after it is not found.
#[tokio::test]
async fn asp_12_a_blocked_pair_finds_nothing_new_of_each_other() {
    let (server, [alice, bob, carol]) = Server::with(["@alice.bot", "@bob.bot", "@carol.bot"]).await;
    let id = room(&[&alice, &bob, &carol]).await;
    alice.say(&id, "gnomes before").await;
    server.block(&alice, "@bob.bot").await;
    eventually("bob has left", || async { (alice.status_of(&id, "@bob.bot").await == "left").then_some(()) })
        .await;
    alice.say(&id, "gnomes after").await;
    assert_eq!(texts(&bob, "q=gnomes").await, ["gnomes before"]);
    assert_eq!(texts(&carol, "q=gnomes").await.len(), 2);
}

/// What one may not read changes nothing in the answer, however often it matches: in a session that one left or never joined,
/// in a channel that one lost.
#[tokio::test]
async fn matches_out_of_reach_change_no_answer() {
    let (server, [nick, ann, eve, paul]) =
        Server::with(["@nick.bot", "@nick.ann", "@eve.bot", "@paul.bot"]).await;
    let left = room(&[&nick, &ann, &eve]).await;
    nick.say(&left, "one gnome among many other words").await;
    eve.leave(&left).await;
    let invited = room(&[&nick, &ann]).await;
    nick.invite(&invited, &["@eve.bot"]).await;
    let lost = channel(&paul).await;
    append(&eve, &lost, "a gnome was here").await;
    server.block(&paul, "@eve.bot").await;
    let (owner, queries) = (server.owner("eve").await, ["q=gnome", "q=gnome&room=channels&who=@paul.bot"]);
    let answers = async || {
        let mut answers = Vec::new();
        for query in queries {
            answers.push(eve.get(&format!("/search?{query}")).await.ok(200));
            answers.push(owner.get(&format!("/search?{query}")).await.ok(200));
        }
        answers
    };
    let before = answers().await;
    assert_eq!((&before[0]["complete"], before[0]["hits"].as_array().map(Vec::len)), (&json!(true), Some(1)));
    // More than a search reads.
    for _ in 0..210 {
        tokio::join!(nick.say(&left, "gnome gnome"), nick.say(&invited, "gnome gnome"));
        tokio::join!(append(&paul, &lost, "gnome gnome"), append(&paul, &lost, "gnome gnome"));
    }
    eventually("the index has them, and they change nothing", || async {
        (answers().await == before).then_some(())
    })
    .await;
}

/// D.6: channels of other owners are found by nobody whom they are not open to, and by a listed agent until a block.
#[tokio::test]
async fn events_of_channels_are_found_by_who_may_use_them() {
    let (server, [nick, friend, stranger]) = Server::with(["@nick.bot", "@acme.friend", "@eve.bot"]).await;
    let at = channel(&nick).await;
    append(&nick, &at, "a gnome built it").await;
    append(&friend, &at, "a gnome mended it").await;
    assert_eq!(texts(&nick, "q=gnome").await.len(), 2);
    assert_eq!(texts(&friend, "q=gnome").await.len(), 2);
    assert_eq!(texts(&stranger, "q=gnome").await, [""; 0]);
    server.block(&nick, "@acme.friend").await;
    assert_eq!(texts(&friend, "q=gnome").await, [""; 0]);
    assert_eq!(texts(&server.operator(), "q=gnome").await.len(), 2);
}

/// SC-8: a run is for who asked, its agent's owner and the operator.
#[tokio::test]
async fn sc_8_runs_are_found_by_who_may_read_them() {
    let server = Server::builder().config(ECHO).start().await;
    let (ann, eve) = (server.agent("@acme.ann").await, server.agent("@eve.bot").await);
    ann.post("/agent/echo/run", json!({"input": "a gnome asks"})).await;
    eventually("it is found", || async { (!hits(&ann, "q=gnome&room=runs").await.is_empty()).then_some(()) })
        .await;
    assert_eq!(hits(&eve, "q=gnome").await.len(), 0);
    let other = server.agent("@nick.other").await;
    assert_eq!(hits(&other, "q=gnome").await.len(), 0);
    assert!(!hits(&server.owner("nick").await, "q=gnome").await.is_empty());
    assert!(!hits(&server.operator(), "q=gnome").await.is_empty());
    let input = hits(&ann, "q=gnome&who=@acme.ann").await;
    assert_eq!((input.len(), &input[0]["kind"]), (1, &json!("input")));
}

/// AP-101: packages and facts of a project are found by its readers as long as they are; of facts only what is current.
#[tokio::test]
async fn ap_101_packages_and_facts_are_found_by_readers_of_their_project() {
    let (server, [nick, ann]) = Server::with(["@nick.bot", "@acme.ann"]).await;
    fact(&nick, "gnome clay").await;
    package(&nick, "pkg_a", "a gnome's hat").await;
    assert_eq!(kinds(&nick, "q=gnome").await, ["context.fact", "context.package"]);
    assert_eq!(hits(&ann, "q=gnome").await.len(), 0);
    let token = server.operator().post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    let owner = &server.bearer(token["token"].as_str().expect("a token"));
    let share = |role: Value| async move {
        if role.is_null() {
            owner.delete("/v1/projects/p/members/@acme.ann").await
        } else {
            owner.put("/v1/projects/p/members/@acme.ann", json!({"role": role})).await
        }
    };
    share(json!("reader")).await;
    let found = hits(&ann, "q=gnome").await;
    assert_eq!(found.len(), 2);
    for hit in &found {
        let path = hit["path"].as_str().expect("a path");
        assert!(ann.get(path).await.ok(200).to_string().contains("gnome"), "{path}");
    }
    share(Value::Null).await;
    assert_eq!(hits(&ann, "q=gnome").await.len(), 0);
    fact(&nick, "troll stone").await;
    assert_eq!(kinds(&nick, "q=gnome").await, ["context.package"], "another value took its place");
    assert_eq!(kinds(&nick, "q=troll").await, ["context.fact"]);
    nick.delete("/v1/projects/p/facts?subject=parser&predicate=is%20made%20of").await.ok(200);
    assert_eq!(hits(&nick, "q=troll").await.len(), 0);
}

/// D.1: the author of a package or a fact is its bearer, under any of the bearer's names. The operator may name anyone.
#[tokio::test]
async fn an_author_is_found_by_its_handle() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let nick = server.agent("@nick.bot").await;
    let put = async |caller: &Caller, id: &str, name: &str| {
        let package = json!({
            "package_id": id, "project_id": "nick:p", "relay_version": "0.1", "title": "ibex", "status": "complete",
            "package_type": "standard", "review_type": "none", "created_at": "2026-04-18T20:00:00Z",
            "created_by": {"id": name, "type": "agent"},
        });
        caller.post("/v1/projects/nick:p/packages", package).await.ok(201);
        let fact = json!({"subject": id, "predicate": "ibex", "value": "v", "asserted_by": {"id": name, "type": "agent"}});
        caller.post("/v1/projects/nick:p/facts", fact).await.ok(201);
    };
    put(&owner, "of-owner", "nick").await;
    put(&nick, "of-agent", "nick").await;
    put(&server.operator(), "of-operator", "ann.bot").await;
    for (who, about) in [("~nick", "of-owner"), ("@nick.bot", "of-agent"), ("@ann.bot", "of-operator")] {
        let found = hits(&nick, &format!("q=ibex&who={who}")).await;
        let mut ids: Vec<String> = found.iter().map(|hit| hit["path"].to_string()).collect();
        ids.retain(|path| path.contains(&about.replace('-', "%2D")));
        assert_eq!((found.len(), ids.len()), (2, 2), "{who}: {found:#?}");
        let by = if who == "@ann.bot" { "ann.bot" } else { who };
        assert!(found.iter().all(|hit| hit["by"] == by), "{found:#?}");
    }
}

/// A token for one session finds its messages, however many newer sessions there are.
#[tokio::test]
async fn a_token_for_an_old_session_finds_its_messages() {
    let (server, [nick]) = Server::with(["@nick.bot"]).await;
    let old = nick.create(&[]).await;
    nick.say(&old, "a gnome of old").await;
    for _ in 0..20 {
        futures_util::future::join_all((0..26).map(|_| nick.create(&[]))).await;
    }
    let made = nick.post("/agents/me/tokens", json!({"scope": format!("read session:{old}")})).await.ok(201);
    let held = server.bearer(made["token"].as_str().expect("a token"));
    assert_eq!(hits(&nick, "q=gnome").await.len(), 0, "of the newest sessions");
    assert_eq!(texts(&held, "q=gnome").await, ["a gnome of old"]);
}

/// A token finds of each room what its scope admits there.
#[tokio::test]
async fn a_token_finds_what_its_scope_admits() {
    let (server, [nick, ann]) = Server::with(["@nick.bot", "@nick.ann"]).await;
    let (one, other) = (room(&[&nick, &ann]).await, room(&[&nick, &ann]).await);
    nick.say(&one, "a gnome here").await;
    nick.say(&other, "a gnome there").await;
    let at = channel(&nick).await;
    append(&nick, &at, "a gnome on a channel").await;
    fact(&nick, "gnome clay").await;
    let with = |scope: String| {
        let made = nick.post("/agents/me/tokens", json!({"scope": scope}));
        let server = &server;
        async move { server.bearer(made.await.ok(201)["token"].as_str().expect("a token")) }
    };
    assert_eq!(hits(&nick, "q=gnome").await.len(), 4);
    assert_eq!(hits(&with("read".into()).await, "q=gnome").await.len(), 4);
    let sessions = with("accounts:read sessions:read".into()).await;
    assert_eq!(kinds(&sessions, "q=gnome").await, ["sessions.message", "sessions.message"]);
    let held = with(format!("read session:{one}")).await;
    assert_eq!(texts(&held, "q=gnome").await, ["a gnome here"]);
    let held = with("read project:p".into()).await;
    assert_eq!(kinds(&held, "q=gnome").await, ["context.fact"]);
    with("sessions:read".into()).await.get("/search?q=gnome").await.assert_refused(403, "insufficient_scope");
}

/// The index goes on where it stood, after a stop and after a kill; one that is lost or damaged is made again.
#[tokio::test]
async fn a_restart_finds_everything() {
    let (mut server, [nick]) = Server::with(["@nick.bot"]).await;
    let id = nick.create(&[]).await;
    let finds = async |count: usize| {
        eventually("it is found", || async {
            let page = nick.get("/search?q=wren").await.ok(200);
            let found = page["hits"].as_array().map(Vec::len);
            (page["complete"] == true && found == Some(count)).then_some(())
        })
        .await;
    };
    nick.say(&id, "a wren").await;
    finds(1).await;
    server.stop().await;
    server.restart().await;
    finds(1).await;
    nick.say(&id, "another wren").await;
    server.crash().await;
    finds(2).await;
    server.stop().await;
    let index = server.data().join("search-everything");
    std::fs::remove_dir_all(&index).expect("the index is a directory");
    server.restart().await;
    finds(2).await;
    server.stop().await;
    for file in std::fs::read_dir(&index).expect("a directory").flatten() {
        std::fs::write(file.path(), b"nothing of use").expect("the file can be written");
    }
    server.restart().await;
    finds(2).await;
    server.wait_for_log("rebuilt").await;
    // Messages are searched by the same index.
    let page = nick.get("/search/messages?q=wrens").await.ok(200);
    assert_eq!(page["messages"].as_array().map(Vec::len), Some(2), "{page}");
}

/// Two processes on one PostgreSQL share one index; when the one that writes it is gone, the other goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_find_the_same() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (mut a, b) = tokio::join!(start(), start());
    let nick = a.agent("@nick.bot").await;
    let nick_b = nick.at(&b);
    let id = nick.create(&[]).await;
    let finds = async |caller: &Agent, count: usize| {
        eventually("it is found", || async {
            let page = caller.get("/search?q=wren&since=2020-01-01&until=2120-01-01").await.ok(200);
            (page["hits"].as_array().map(Vec::len) == Some(count)).then_some(())
        })
        .await;
    };
    nick.say(&id, "a wren").await;
    nick_b.say(&id, "another wren").await;
    finds(&nick, 2).await;
    finds(&nick_b, 2).await;
    a.kill().await;
    nick_b.say(&id, "the last wren").await;
    finds(&nick_b, 3).await;
    let page = nick_b.get("/search?q=wren&until=2020-01-01").await.ok(200);
    assert_eq!(page["hits"], json!([]));
    drop((a, b));
    database.remove().await;
}

/// Of more things than compete the nearest are found, and the answer stays within its bounds.
#[tokio::test]
async fn many_things_compete() {
    let (server, [nick]) = Server::with(["@nick.bot"]).await;
    let id = nick.create(&[]).await;
    for n in 0..230 {
        nick.say(&id, format!("plover {n}").as_str()).await;
    }
    nick.say(&id, "the plover of all plovers, a golden plover").await;
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let page = nick.get(&format!("/search?q=golden%20plover&limit=50{cursor}")).await.ok(200);
        let hits = page["hits"].as_array().expect("hits");
        if count == 0 {
            assert!(
                hits[0]["snippet"]["text"].as_str().is_some_and(|text| text.contains("golden")),
                "{page}"
            );
        }
        count += hits.len();
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(count, 200);
    // What compares with nothing has no score of others: a foreign agent's word counts for nobody else.
    let other = server.agent("@eve.bot").await;
    assert_eq!(hits(&other, "q=plover").await.len(), 0);
}

/// Sessions that a stranger offers, and runs that it starts, displace nobody's own from a search.
#[tokio::test]
async fn what_strangers_begin_displaces_nothing_from_a_search() {
    let server = Server::builder().config(ECHO).start().await;
    let (nick, eve, owner) =
        (server.agent("@nick.bot").await, server.agent("@eve.bot").await, server.owner("nick").await);
    let own = nick.create(&[]).await;
    nick.say(&own, "a dodo").await;
    let run = async |caller: &Caller, input: &str| {
        let begun = caller.post("/agent/echo/run", json!({"input": input})).await;
        assert_eq!(begun.status, 202, "{begun}");
    };
    run(&owner, "a quagga").await;
    run(&nick, "a moa").await;
    for _ in 0..500 {
        eve.create(&[&nick]).await;
        run(&eve, "an auk").await;
    }
    for searcher in [&owner, &*nick] {
        assert_eq!(texts(searcher, "q=dodo").await, ["a dodo"]);
    }
    for run in ["quagga", "moa"] {
        assert!(!hits(&owner, &format!("q={run}&room=runs")).await.is_empty(), "{run}");
    }
    assert!(!hits(&owner, "q=auk&room=runs").await.is_empty(), "the newest of the others");
}

/// One search covers the newest 500 sessions; `GET /search/messages` goes further back.
#[tokio::test]
async fn only_the_newest_sessions_are_searched() {
    let (_server, [nick]) = Server::with(["@nick.bot"]).await;
    let oldest = nick.create(&[]).await;
    nick.say(&oldest, "a dodo").await;
    for _ in 0..499 {
        nick.create(&[]).await;
    }
    assert_eq!(texts(&nick, "q=dodo").await, ["a dodo"]);
    nick.create(&[]).await;
    assert_eq!(texts(&nick, "q=dodo").await, [""; 0]);
    let page = nick.get("/search/messages?q=dodo").await.ok(200);
    assert_eq!(page["messages"].as_array().map(Vec::len), Some(1), "{page}");
}

/// From the command line: when, what and who, the passage, and the path that reads it; as the server sent it under `--json`.
#[tokio::test]
async fn the_command_line_searches_as_the_agent() {
    let (server, [nick, ann]) = Server::with(["@nick.bot", "@nick.ann"]).await;
    let session = room(&[&nick, &ann]).await;
    nick.say(&session, "the dunlin is here").await;
    ann.say(&session, "which dunlin?").await;
    let cli = Cli::of(&server, &nick, "s-1");
    let shown = cli.run_ok(&["search", "dunlins", "--room", "sessions,channels", "--who", "@nick.bot"]).await;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains("sessions.message @nick.bot"), "{shown}");
    assert_eq!(lines[1].trim(), "the dunlin is here");
    assert!(lines[2].trim().starts_with(&format!("/sessions/{session}/events?")), "{shown}");
    assert_eq!(lines.len(), 3, "{shown}");
    let json = cli.run_ok(&["search", "dunlins", "--json", "--since", "2020-01-01", "--limit", "1"]).await;
    let page: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(page["hits"].as_array().map(Vec::len), Some(1), "{page}");
    let cursor = page["next_cursor"].as_str().expect("there is more");
    let json = cli.run_ok(&["search", "dunlins", "--json", "--limit", "1", "--cursor", cursor]).await;
    let next: Value = serde_json::from_str(&json).expect("JSON");
    assert_ne!(page["hits"][0]["id"], next["hits"][0]["id"]);
    assert_eq!(cli.run_ok(&["search", "nothing-of-it"]).await, "");
    let owner = cli.run(&["search", "dunlins", "--owner", "acme"]).await;
    assert_ne!(owner.code, 0, "an agent's token is no owner's: {}", owner.out);
}

/// Without the index only packages and agents are found, and messages by looking through them; with it again everything is.
#[tokio::test]
async fn the_index_of_everything_may_be_left_out() {
    let mut server = Server::builder().config("[search]\neverything = false\n").start().await;
    let nick = server.agent("@nick.bot").await;
    let id = nick.create(&[]).await;
    nick.say(&id, "a siskin").await;
    package(&nick, "pkg_a", "a siskin's nest").await;
    assert_eq!(kinds(&nick, "q=siskin").await, ["context.package"]);
    let page = nick.get("/search/messages?q=siskin").await.ok(200);
    assert_eq!(page["messages"].as_array().map(Vec::len), Some(1), "{page}");
    let index = server.data().join("search-everything");
    assert!(!index.exists());
    server.stop().await;
    std::fs::create_dir(&index).expect("a directory can be made");
    server.restart().await;
    assert!(!index.exists(), "what an earlier start left is removed");
}
