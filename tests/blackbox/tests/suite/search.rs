//! `GET /search`, `/search/agents`, `/search/messages`: what whoever asks may see, and nothing of what is not for it
//! (wire.md 2.2; ASP-12, ASP-18, ASP-70).

use blackbox::{Agent, Caller, Server, assert_keys, room};
use serde_json::{Value, json};

async fn found(caller: &Caller, query: &str) -> Vec<String> {
    let page = caller.get(&format!("/search/agents?{query}")).await.ok(200);
    handles(&page)
}

fn handles(page: &Value) -> Vec<String> {
    let agents = page["agents"].as_array().expect("agents");
    agents.iter().map(|agent| agent["canonical_handle"].as_str().expect("a handle").to_owned()).collect()
}

async fn texts(agent: &Agent, query: &str) -> Vec<String> {
    let page = agent.get(&format!("/search/messages?{query}")).await.ok(200);
    contents(&page)
}

fn contents(page: &Value) -> Vec<String> {
    let messages = page["messages"].as_array().expect("messages");
    messages.iter().map(|message| message["content"].as_str().unwrap_or("parts").to_owned()).collect()
}

/// By handle, name or description, in the published members.
#[tokio::test]
async fn agents_are_found_by_what_they_say() {
    let (server, [asking]) = Server::with(["@nick.asking"]).await;
    let body = json!({"handle": "@acme.parser", "policy": "open", "display_name": "The Übersetzer", "description": "Reads Rust"});
    server.agent_as(body).await;
    for query in ["q=parser", "q=%C3%9CBER", "q=reads%20rust", "q=acme"] {
        assert_eq!(found(&asking, query).await, ["@acme.parser"], "{query}");
    }
    let page = asking.get("/search/agents?q=parser").await.ok(200);
    assert_keys(&page, &["agents", "next_cursor"], &[]);
    assert!(page["next_cursor"].is_null(), "{page}");
    let agent = json!({
        "type": "agent", "id": "@acme.parser", "canonical_handle": "@acme.parser",
        "display_name": "The Übersetzer", "image_url": null,
    });
    assert_eq!(page["agents"][0], agent);
    let all = asking.get("/search?q=parser&limit=20").await.ok(200);
    assert_keys(&all, &["agents", "people", "organizations", "hits", "complete"], &[]);
    assert_eq!(all["agents"], json!([agent]));
    assert_eq!((&all["people"], &all["organizations"]), (&json!([]), &json!([])));
}

/// ASP-12, ASP-18: what trust, a block or a deletion keeps away is found no more than what never was.
#[tokio::test]
async fn asp_18_agents_out_of_reach_are_not_found() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let foreign = server.owner("acme").await;
    let stranger = server.agent("@acme.bot").await;
    let nothing = stranger.get("/search/agents?q=gnome").await.fingerprint();
    server.closed_agent("@nick.gnome-closed", &["@friend.*"]).await;
    let blocker = server.agent("@nick.gnome-blocker").await;
    server.agent("@nick.gnome-gone").await;
    let public = json!({"handle": "@nick.gnome-public", "policy": "open", "visibility": "public"});
    let public = server.agent_as(public).await;
    server.block(&blocker, "@acme.bot").await;
    server.block(&public, "@acme.bot").await;
    server.operator().delete("/_admin/agents/@nick.gnome-gone").await;
    assert_eq!(stranger.get("/search/agents?q=gnome").await.fingerprint(), nothing);
    let all = stranger.get("/search?q=gnome").await.ok(200);
    assert_eq!(all["agents"], json!([]));
    let bystander = server.agent("@acme.bystander").await;
    assert_eq!(found(&bystander, "q=gnome").await, ["@nick.gnome-blocker", "@nick.gnome-public"]);
    assert_eq!(found(&foreign, "q=gnome").await, ["@nick.gnome-public"]);
    let every = ["@nick.gnome-blocker", "@nick.gnome-closed", "@nick.gnome-public"];
    assert_eq!(found(&owner, "q=gnome").await, every);
    assert_eq!(found(&server.operator(), "q=gnome").await, every);
}

/// Pages follow each other, and a cursor names nobody that was not shown.
#[tokio::test]
async fn found_agents_come_in_pages() {
    let (server, [asking]) = Server::with(["@zoe.asking"]).await;
    for n in 0..5 {
        server.agent(&format!("@nick.gnome{n}")).await;
        server.closed_agent(&format!("@nick.secret{n}"), &[]).await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = asking.get(&format!("/search/agents?q=nick&limit=2{cursor}")).await.ok(200);
        seen.extend(handles(&page));
        assert!(!page.to_string().contains("secret"), "{page}");
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, ["@nick.gnome0", "@nick.gnome1", "@nick.gnome2", "@nick.gnome3", "@nick.gnome4"]);
}

#[tokio::test]
async fn wrong_searches_are_refused() {
    let (server, [agent]) = Server::with(["@nick.asking"]).await;
    for (path, characters_max) in [("/search", 1_000), ("/search/agents", 100), ("/search/messages", 100)] {
        let long = "x".repeat(characters_max + 1);
        for (query, code) in [
            (String::new(), "invalid_query"),
            ("q=x".to_owned(), "invalid_query"),
            (format!("q={long}"), "invalid_query"),
            ("q=ab&q=cd".to_owned(), "invalid_query"),
            ("q=ab&limit=0".to_owned(), "invalid_limit"),
            ("q=ab&limit=101".to_owned(), "invalid_limit"),
            ("q=ab&limit=x".to_owned(), "invalid_limit"),
        ] {
            agent.get(&format!("{path}?{query}")).await.assert_refused(400, code);
        }
        agent.get(&format!("{path}?q=%C3%A4%C3%A4")).await.ok(200);
        server.stranger().get(&format!("{path}?q=ab")).await.refusal_code(401);
    }
    agent.get("/search/agents?q=ab&limit=51").await.assert_refused(400, "invalid_limit");
    for (query, code) in [
        ("room=kitchen", "invalid_room"),
        ("who=nick", "invalid_handle"),
        ("since=yesterday", "invalid_since"),
        ("until=2026-02-30", "invalid_until"),
        ("cursor=!", "invalid_cursor"),
    ] {
        agent.get(&format!("/search?q=ab&{query}")).await.assert_refused(400, code);
    }
    for who in ["@nick", "@nick.asking", "~nick", "operator"] {
        agent.get(&format!("/search?q=ab&who={who}")).await.ok(200);
    }
    agent.get("/search?q=ab&cursor=x").await.assert_refused(400, "invalid_cursor");
    agent.get("/search/agents?q=ab&cursor=x").await.assert_refused(400, "invalid_cursor");
    agent.get("/search/messages?q=ab&cursor=x").await.assert_refused(400, "invalid_cursor");
    let (one, other) = ("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAW");
    let mixed = format!("/search/messages?q=ab&session_id={one}&cursor={other}.7");
    agent.get(&mixed).await.assert_refused(400, "invalid_cursor");
    agent.get(&format!("/search/messages?q=ab&session_id={one}&cursor={one}.7")).await.ok(200);
    agent.get("/search/messages?q=ab&session_id=x").await.assert_refused(400, "invalid_query");
    agent.get("/search/messages?q=ab&counterpart=nick").await.assert_refused(400, "invalid_handle");
    server.owner("nick").await.get("/search/messages?q=ab").await.refusal_code(401);
}

/// The newest first, in the form of a message, filtered by session and counterpart.
#[tokio::test]
async fn messages_are_found_by_their_text() {
    let (_server, [alice, bob, carol]) = Server::with(["@alice.bot", "@bob.bot", "@carol.bot"]).await;
    let first = room(&[&alice, &bob]).await;
    let sequence = alice.say(&first, "Ship the parser").await;
    bob.say(&first, "Something else").await;
    let second = room(&[&alice, &carol]).await;
    carol.say(&second, "the PARSER again").await;
    alice
        .say(&second, json!([{"type": "text", "text": "a parser in parts"}, {"type": "data", "data": {}}]))
        .await;
    assert_eq!(texts(&alice, "q=parser").await, ["parts", "the PARSER again", "Ship the parser"]);
    assert_eq!(texts(&bob, "q=parser").await, ["Ship the parser"]);
    assert_eq!(texts(&alice, &format!("q=parser&session_id={first}")).await, ["Ship the parser"]);
    assert_eq!(texts(&alice, "q=parser&counterpart=@bob.bot").await, ["Ship the parser"]);
    assert_eq!(texts(&alice, "q=parser&counterpart=@nobody.bot").await, [""; 0]);
    let page = bob.get("/search/messages?q=parser").await.ok(200);
    assert_keys(&page, &["messages", "next_cursor"], &[]);
    assert!(page["next_cursor"].is_null(), "{page}");
    let history = bob.history(&first).await;
    let sent = history.iter().find(|event| event["sequence"] == json!(sequence)).expect("the message");
    assert_eq!(page["messages"][0], sent["payload"]);
}

/// The index has only the first 65,536 words of a text; a message is found by those after them too.
#[tokio::test]
async fn a_long_message_is_found_by_its_end() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let id = alice.create(&[]).await;
    let long = format!("{}gnomes", "w ".repeat(65_600));
    alice.say(&id, long.as_str()).await;
    alice.say(&id, "gnomes in short").await;
    assert_eq!(texts(&alice, "q=gnome").await, ["gnomes in short", &long]);
}

/// ASP-70, ASP-80: a session of others, one that is not, what came after one left and what came before one was invited.
#[tokio::test]
async fn asp_18_messages_of_others_are_not_found() {
    let (server, [alice, bob, eve]) = Server::with(["@alice.bot", "@bob.bot", "@eve.bot"]).await;
    let id = room(&[&alice, &bob]).await;
    alice.say(&id, "gnomes before").await;
    let foreign = eve.get(&format!("/search/messages?q=gnomes&session_id={id}")).await;
    let absent = eve.get("/search/messages?q=gnomes&session_id=sess_01HW7AB12CDEFGHJKMNPQRSTVW").await;
    assert_eq!(foreign.fingerprint(), absent.fingerprint());
    assert_eq!(texts(&eve, "q=gnomes").await, [""; 0]);
    alice.invite(&id, &["@eve.bot"]).await;
    assert_eq!(texts(&eve, "q=gnomes").await, [""; 0], "invited is not joined");
    bob.leave(&id).await;
    alice.say(&id, "gnomes after").await;
    assert_eq!(texts(&bob, "q=gnomes").await, ["gnomes before"]);
    eve.join(&id).await;
    assert_eq!(texts(&eve, "q=gnomes").await, ["gnomes after", "gnomes before"]);
    server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    assert_eq!(texts(&alice, "q=gnomes&counterpart=@carol.bot").await.len(), 2);
    assert_eq!(texts(&bob, "q=gnomes&counterpart=@carol.bot").await, [""; 0], "she came when bob was gone");
    alice.end(&id).await;
    assert_eq!(texts(&eve, "q=gnomes").await, ["gnomes after", "gnomes before"], "an ended session is kept");
}

/// ASP-29: a message that came in its invitation is found by whoever was invited.
#[tokio::test]
async fn asp_29_a_message_in_an_invitation_is_found() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    alice
        .open(json!({"invite": ["@bob.bot"], "initial_message": {"content": "gnomes once"}, "end_after_send": true}))
        .await;
    alice.open(json!({"invite": ["@bob.bot"], "initial_message": {"content": "gnomes hidden"}})).await;
    assert_eq!(texts(&bob, "q=gnomes").await, ["gnomes once"]);
}

/// Pages bring everything once, over several sessions.
#[tokio::test]
async fn found_messages_come_in_pages() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut expected = Vec::new();
    for session in 0..3 {
        let id = alice.create(&[]).await;
        for n in 0..7 {
            let text = format!("gnome {session} {n}");
            alice.say(&id, text.as_str()).await;
            alice.say(&id, "nothing").await;
            expected.push(text);
        }
    }
    expected.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = alice.get(&format!("/search/messages?q=gnome&limit=4{cursor}")).await.ok(200);
        let found = contents(&page);
        assert!(found.len() <= 4, "{page}");
        seen.extend(found);
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, expected);
}

/// Each owner has so many searches at once, as for context.
#[tokio::test]
async fn searches_have_a_share_per_owner() {
    let server = Server::builder().config("[quota]\nsearches_per_owner_max = 0\n").start().await;
    let alice = server.agent("@alice.bot").await;
    for path in ["/search/messages", "/search/agents", "/search"] {
        let refused = alice.get(&format!("{path}?q=gnomes")).await;
        refused.assert_refused(429, "too_many_searches");
        assert!(refused.text().contains("searches_per_owner_max"), "{refused}");
        assert!(refused.header("retry-after").is_some(), "{refused}");
    }
}

/// `GET /search` finds the caller's own agents however many agents of others come before them.
#[tokio::test]
async fn a_search_for_everything_looks_past_the_first_thousand_agents() {
    let server = Server::start().await;
    let operator = server.operator();
    for owners in (0..1_010).collect::<Vec<u32>>().chunks(50) {
        let made = owners.iter().map(|nth| {
            let body = json!({"handle": format!("@a{nth:04}.gnome"), "policy": "allowlist"});
            let operator = operator.clone();
            async move { operator.post("/_admin/agents", body).await.ok(201) }
        });
        futures_util::future::join_all(made).await;
    }
    let zoe = server.agent("@zoe.gnome").await;
    let found = zoe.get("/search?q=gnome").await.ok(200);
    assert_eq!((handles(&found), found.get("next_cursor")), (vec!["@zoe.gnome".to_owned()], None));
    // What does not fit is behind the cursor, as with every list.
    let first = operator.get("/search?q=gnome&limit=50").await.ok(200);
    let next = first["next_cursor"].as_str().expect("there are more");
    let second = operator.get(&format!("/search?q=gnome&limit=50&cursor={next}")).await.ok(200);
    let (first, second) = (handles(&first), handles(&second));
    assert_eq!((first[49].as_str(), second[0].as_str()), ("@a0049.gnome", "@a0050.gnome"));
}
