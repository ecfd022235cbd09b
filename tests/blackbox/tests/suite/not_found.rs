//! Every "not yours" is the same 404: status, headers but the date, and body bytes
//! (ASP-12, ASP-18, ASP-19, ASP-89; scenario 24, A1, A5, A6).

use blackbox::{Agent, Caller, Response, Server, enter, room};
use serde_json::{Value, json};

/// Ids that name nothing, well formed and not.
const ABSENT: &[&str] = &[
    "sess_01HW7AB12CDEFGHJKMNPQRSTVW",
    "sess_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "sess_00000000000000000000000000",
    "sess_01HW7AB12CDEFGHJKMNPQRSTV",
    "sess_01hw7ab12cdefghjkmnpqrstvw",
    "sess_ILOU7AB12CDEFGHJKMNPQRSTVW",
    "sess_",
    "msg_01HW7AB12CDEFGHJKMNPQRSTVW",
    "01HW7AB12CDEFGHJKMNPQRSTVW",
    "sess_%27%20OR%201%3D1--",
    "sess_%C3%A9",
    "sess_%ff",
    "%C3",
    "x",
    "-1",
];

/// The calls on a session, each with a body that would be right for a participant, and one that would be wrong.
fn calls(id: &str) -> Vec<(&'static str, String, Option<Value>)> {
    let path = |tail: &str| format!("/sessions/{id}{tail}");
    vec![
        ("GET", path(""), None),
        ("GET", path("/events"), None),
        ("GET", path("/events?limit=0"), None),
        ("POST", path("/join"), None),
        ("POST", path("/join"), Some(json!({}))),
        ("POST", path("/leave"), None),
        ("POST", path("/end"), None),
        ("POST", path("/invite"), Some(json!({"invite": ["@bob.bot"]}))),
        ("POST", path("/invite"), Some(json!({"invite": 7}))),
        ("POST", path("/messages"), Some(json!({"content": "x", "idempotency_key": "k"}))),
        ("POST", path("/messages"), Some(json!({"content": 7}))),
        ("POST", path("/messages"), Some(json!([]))),
        ("POST", path("/reopen"), Some(json!({}))),
        ("POST", path("/reopen"), Some(json!({"invite": "x"}))),
    ]
}

async fn call(caller: &Caller, (method, path, body): &(&'static str, String, Option<Value>)) -> Response {
    caller.call(method, path, &[], body.as_ref()).await
}

/// No header, no text names a handle or a session, and no id of the request is in it.
#[track_caller]
fn assert_silent(response: &Response) {
    response.assert_refused(404, "not_found");
    let seen = response.fingerprint();
    for word in ["sess_", "req_", "@", ".bot"] {
        assert!(!seen.contains(word), "a 404 says nothing of {word}: {response}");
    }
    for (name, _) in &response.headers {
        let name = name.to_ascii_lowercase();
        assert!(!name.contains("request-id") && !name.contains("trace"), "{response}");
        assert!(!name.contains("ratelimit-remaining"), "{response}");
    }
}

/// ASP-18, A1: foreign sessions in every state, and ids that never were, on every endpoint: one answer.
#[tokio::test]
async fn asp_89_foreign_and_absent_sessions_look_alike() {
    let (server, alice, bob, active) = Server::with_pair().await;
    let ended = room(&[&alice, &bob]).await;
    alice.say(&ended, "x").await;
    alice.end(&ended).await;
    let alone = alice.create(&[]).await;
    let hidden = server.closed_agent("@hidden.bot", &["@alice.bot"]).await;
    let private = alice.create(&[&hidden]).await;
    let stranger = server.agent("@stranger.bot").await;
    let mut reference: Option<String> = None;
    let foreign = [active, ended, alone, private];
    for id in foreign.iter().map(String::as_str).chain(ABSENT.iter().copied()) {
        for one in calls(id) {
            let response = call(&stranger, &one).await;
            assert_silent(&response);
            let seen = response.fingerprint();
            let wanted = reference.get_or_insert_with(|| seen.clone());
            assert_eq!(&seen, wanted, "{response}");
        }
    }
}

/// The order of checks for strangers: broken JSON is refused before the session is looked for, in every case alike.
#[tokio::test]
async fn broken_json_is_refused_alike() {
    let (server, _, _, id) = Server::with_pair().await;
    let stranger = server.agent("@stranger.bot").await;
    let mut seen = std::collections::BTreeSet::new();
    for id in [id.as_str(), ABSENT[0], "x"] {
        let response = stranger.post_raw(&format!("/sessions/{id}/messages"), b"{\"content\":").await;
        response.assert_refused(400, "invalid_json");
        seen.insert(response.fingerprint());
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

/// Everyone who will not be reached, each for another reason.
async fn unreachable(server: &Server, caller: &Agent) -> Vec<String> {
    server.closed_agent("@hidden.bot", &[]).await;
    server.closed_agent("@elsewhere.bot", &["@somebody.else"]).await;
    let blocker = server.agent("@blocker.bot").await;
    server.block(&blocker, &caller.handle).await;
    let listing = server.closed_agent("@listing.bot", &[&caller.handle]).await;
    server.block(&listing, &caller.handle).await;
    let blocked = server.agent("@blocked.bot").await;
    server.block(caller, &blocked.handle).await;
    server.agent("@deleted.bot").await;
    let gone = server.operator().delete("/_admin/agents/@deleted.bot").await;
    assert_eq!(gone.status, 204, "{gone}");
    let handles =
        ["@nobody.bot", "@hidden.bot", "@elsewhere.bot", "@blocker.bot", "@listing.bot", "@blocked.bot"];
    handles.into_iter().chain(["@deleted.bot"]).map(str::to_owned).collect()
}

/// ASP-18, ASP-19: hidden, blocking, blocked, deleted, never made: the same answer wherever one may be invited.
#[tokio::test]
async fn unreachable_and_absent_agents_look_alike() {
    let (server, alice, _, id) = Server::with_pair().await;
    let handles = unreachable(&server, &alice).await;
    let mut reference: Option<String> = None;
    for handle in &handles {
        for (path, body) in [
            ("/sessions".to_owned(), json!({"invite": [handle]})),
            (
                "/sessions".to_owned(),
                json!({"invite": ["@bob.bot", handle], "initial_message": {"content": "x"}}),
            ),
            (
                "/sessions".to_owned(),
                json!({"invite": [handle], "initial_message": {"content": "x"}, "end_after_send": true}),
            ),
            ("/sessions".to_owned(), json!({"invite": [handle], "idempotency_key": "k"})),
            (format!("/sessions/{id}/invite"), json!({"invite": [handle]})),
            (format!("/sessions/{id}/invite"), json!({"invite": [handle, "@bob.bot"]})),
        ] {
            let response = alice.post(&path, body).await;
            assert_silent(&response);
            let seen = response.fingerprint();
            let wanted = reference.get_or_insert_with(|| seen.clone());
            assert_eq!(&seen, wanted, "{handle}: {response}");
        }
    }
    let foreign = alice.get(&format!("/sessions/{}", ABSENT[0])).await;
    assert_eq!(Some(foreign.fingerprint()), reference, "one builder for all of them");
}

/// A6: which of several was refused cannot be told, nor how many.
#[tokio::test]
async fn a_list_is_no_oracle() {
    let (server, alice, _, _) = Server::with_pair().await;
    let handles = unreachable(&server, &alice).await;
    let one = alice.post("/sessions", json!({"invite": [handles[0]]})).await;
    for list in [json!(handles), json!(["@bob.bot", handles[1]]), json!([handles[2], "@bob.bot", handles[3]])]
    {
        let response = alice.post("/sessions", json!({ "invite": list })).await;
        assert_eq!(response.fingerprint(), one.fingerprint());
    }
}

/// At a reopening, refusals are skipped silently: the answers are equal.
#[tokio::test]
async fn a_reopening_is_no_oracle() {
    let (server, alice, _, _) = Server::with_pair().await;
    let handles = unreachable(&server, &alice).await;
    let mut seen = std::collections::BTreeSet::new();
    for handle in &handles {
        let id = alice.create(&[]).await;
        alice.end(&id).await;
        let response = alice.post(&format!("/sessions/{id}/reopen"), json!({"invite": [handle]})).await;
        response.ok(200);
        seen.insert(response.fingerprint());
        assert_eq!(alice.show(&id).await["participants"].as_array().map(Vec::len), Some(1), "{handle}");
        assert_eq!(alice.history(&id).await.len(), 2, "ended, reopened");
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

/// ASP-12: the blocked finds its blocker as absent as a handle that never was, and its old session as if it had left.
#[tokio::test]
async fn the_blocked_finds_nothing() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = enter(&server, &alice, &id, "@carol.bot").await;
    let own = room(&[&bob, &carol]).await;
    server.block(&alice, &bob.handle).await;
    for path in ["/sessions".to_owned(), format!("/sessions/{own}/invite")] {
        let blocker = bob.post(&path, json!({"invite": [alice.handle]})).await;
        let nobody = bob.post(&path, json!({"invite": ["@nobody.bot"]})).await;
        assert_silent(&blocker);
        assert_eq!(blocker.fingerprint(), nobody.fingerprint());
    }
    carol.end(&id).await;
    let reopening = bob.post(&format!("/sessions/{id}/reopen"), json!({})).await;
    let absent = bob.post(&format!("/sessions/{}/reopen", ABSENT[0]), json!({})).await;
    assert_eq!(reopening.fingerprint(), absent.fingerprint());
}

/// Contacts and tickets of others are not there either.
#[tokio::test]
async fn other_ids_are_not_there_either() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let reference = alice.get(&format!("/sessions/{}", ABSENT[0])).await;
    for id in ["req_01HW7AB12CDEFGHJKMNPQRSTVW", "req_x", "x", "sess_01HW7AB12CDEFGHJKMNPQRSTVW"] {
        for verb in ["accept", "decline"] {
            let response = alice.post_empty(&format!("/contacts/{id}/{verb}")).await;
            assert_silent(&response);
            assert_eq!(response.fingerprint(), reference.fingerprint());
        }
    }
}

/// ASP-19, ASP-20: no agent's call on a session is ever answered 403: trust says 404, and a limit would say 429.
#[tokio::test]
async fn asp_89_no_session_call_is_answered_403() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let invited = server.agent("@invited.bot").await;
    alice.invite(&id, &["@invited.bot"]).await;
    let left = enter(&server, &alice, &id, "@left.bot").await;
    left.leave(&id).await;
    let stranger = server.agent("@stranger.bot").await;
    for _ in 0..2 {
        for agent in [&invited, &left, &stranger] {
            for one in calls(&id) {
                // Joining would change the invitee's status.
                if one.1.ends_with("/join") && agent.handle == invited.handle {
                    continue;
                }
                let response = call(agent, &one).await;
                assert_ne!(response.status, 403, "{response}");
            }
        }
        // The second round is on the ended session.
        if alice.show(&id).await["state"] == "active" {
            bob.end(&id).await;
        }
    }
}

/// Every page of a list of agents, with the cursors replaced by whether there is one.
async fn pages(agent: &Agent, path: &str) -> Vec<Value> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let mut page = agent.get(&format!("{path}{cursor}")).await.ok(200);
        let next = page["next_cursor"].take().as_str().map(str::to_owned);
        let has_more = next.is_some();
        pages.push(json!([page["agents"], has_more]));
        let Some(next) = next else { return pages };
        cursor = format!("&cursor={next}");
    }
}

/// ASP-18: no page, no cursor and no invented cursor tells whether an agent exists that the caller does not see.
#[tokio::test]
async fn asp_18_hidden_agents_change_no_page_of_agents() {
    let server = Server::start().await;
    let nick = server.owner("nick").await;
    let eve = server.agent("@eve.bot").await;
    for name in ["bravo", "mike"] {
        server.agent(&format!("@nick.{name}")).await;
    }
    let paths: Vec<String> = ["/agents?owner=nick", "/agents?query=nick", "/who?owner=nick"]
        .into_iter()
        .chain(["/search/agents?q=nick", "/search?q=nick&type=agent"])
        .flat_map(|path| [1, 2, 50].map(|limit| format!("{path}&limit={limit}")))
        .collect();
    let mut before = Vec::new();
    for path in &paths {
        before.push(pages(&eve, path).await);
    }
    for name in ["alpha", "charlie", "zulu"] {
        server.closed_agent(&format!("@nick.{name}"), &[]).await;
    }
    server.agent("@nick.yankee").await;
    nick.post("/_admin/agents/@nick.yankee/blocks", json!({"handle": "@eve.bot"})).await.ok(201);
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(pages(&eve, path).await, *before, "{path}");
        for invented in ["@nick.alpha", "@nick.alpha%2B1", "%2B1", "@nick.bravo", "!@nick.bravo"] {
            let asked = eve.get(&format!("{path}&cursor={invented}")).await;
            asked.assert_refused(400, "invalid_cursor");
        }
    }
}
