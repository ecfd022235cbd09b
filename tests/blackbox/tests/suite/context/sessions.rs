//! Sessions of work: AP-13 to AP-15.

use blackbox::{Agent, Caller, assert_keys};
use serde_json::{Value, json};

use super::speak::{PROJECT, deposited, desk, instant, list, package_with, texts};

const KEYS: [&str; 8] = [
    "session_id",
    "project_id",
    "actor_id",
    "actor_type",
    "callsign",
    "started_at",
    "ended_at",
    "packages_deposited",
];

fn sessions() -> String {
    format!("/v1/projects/{PROJECT}/sessions")
}

async fn begin(agent: &Agent, body: Value) -> Value {
    agent.post(&sessions(), body).await.ok(201)
}

async fn show(caller: &Caller, session: &Value) -> Value {
    caller.get(&format!("{}/{}", sessions(), session["session_id"].as_str().expect("an id"))).await.ok(200)
}

async fn room() -> (blackbox::Server, Agent) {
    let (server, nick) = desk().await;
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    (server, nick)
}

/// AP-13, AP-14: eight members, and a callsign of two words.
#[tokio::test]
async fn ap_13_a_session_has_its_shape() {
    let (mut server, nick) = room().await;
    let body = json!({"actor_id": nick.handle, "actor_type": "script"});
    let mut made = vec![begin(&nick, body).await];
    for _ in 0..5 {
        made.push(begin(&nick, json!({})).await);
    }
    assert_eq!((&made[0]["actor_id"], &made[0]["actor_type"]), (&json!(nick.handle), &json!("script")));
    for session in &made {
        assert_keys(session, &KEYS, &[]);
        assert_eq!(session["project_id"], PROJECT);
        let actor = session["actor_id"].as_str().expect("an actor");
        assert!(["nick", "cc-laptop", "nick.cc-laptop", "@nick.cc-laptop"].contains(&actor), "{session}");
        assert!(["human", "agent", "script"].contains(&session["actor_type"].as_str().expect("a type")));
        let callsign = session["callsign"].as_str().expect("a callsign");
        let (one, two) = callsign.split_once('-').expect("two words");
        for word in [one, two] {
            assert!(!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()), "{callsign}");
        }
        assert!((5..=32).contains(&callsign.len()), "{callsign}");
        instant(&session["started_at"]);
        assert_eq!((&session["ended_at"], &session["packages_deposited"]), (&json!(null), &json!([])));
    }
    let mut ids = texts(&made, "session_id");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), made.len());
    server.crash().await;
    for session in &made {
        assert_eq!(show(&nick, session).await, *session);
        let path = format!("{}?callsign={}", sessions(), session["callsign"].as_str().expect("a callsign"));
        let found = list(&nick.get(&path).await.ok(200), "sessions");
        assert!(found.contains(session), "AP-15: the callsign finds it");
        assert!(found.iter().all(|other| other["callsign"] == session["callsign"]));
    }
    assert_eq!(list(&nick.get(&sessions()).await.ok(200), "sessions").len(), made.len());
    let none = nick.get(&format!("{}?callsign=no-such", sessions())).await.ok(200);
    assert_eq!(none["sessions"], json!([]));
}

/// AP-15: what was deposited in it, once each, and nothing else.
#[tokio::test]
async fn ap_15_a_session_lists_its_packages() {
    let (mut server, nick) = room().await;
    let (one, two) = (begin(&nick, json!({})).await, begin(&nick, json!({})).await);
    for (id, session) in [("b", Some(&one)), ("c", None), ("a", Some(&one)), ("d", Some(&two))] {
        let session = session.map_or(json!(null), |session| session["session_id"].clone());
        let by = json!({"created_by": {"id": nick.handle, "type": "agent", "session_id": session}});
        let package = package_with("", id, by);
        deposited(&nick, &package).await;
        super::speak::deposit(&nick, &package).await.ok(200);
    }
    server.crash().await;
    let deposited = async |session: &Value| {
        let mut ids: Vec<_> = list(&show(&nick, session).await, "packages_deposited");
        ids.sort_by_key(Value::to_string);
        json!(ids)
    };
    assert_eq!(deposited(&one).await, json!(["a", "b"]));
    assert_eq!(deposited(&two).await, json!(["d"]));
}

/// D.7: a session is ended once named so.
#[tokio::test]
async fn ap_13_a_session_ends() {
    let (mut server, nick) = room().await;
    let session = begin(&nick, json!({})).await;
    let path = format!("{}/{}", sessions(), session["session_id"].as_str().expect("an id"));
    for bad in [
        json!({"ended_at": 7}),
        json!({"ended_at": "now"}),
        json!({"ended_at": "2026-04-18T20:00:00+02:00"}),
        json!({"ended_at": format!("{}0000000Z", super::speak::ago(0).trim_end_matches('Z'))}),
    ] {
        let response = nick.patch(&path, bad).await;
        response.assert_refused(400, "invalid_schema");
        super::speak::assert_field(&response, "ended_at");
    }
    let end = super::speak::ago(-1);
    let ended = nick.patch(&path, json!({ "ended_at": end })).await.ok(200);
    assert_eq!(instant(&ended["ended_at"]), instant(&json!(end)));
    server.crash().await;
    assert_eq!(show(&nick, &session).await, ended);
    for kept in ["session_id", "callsign", "started_at", "actor_id", "packages_deposited"] {
        assert_eq!(ended[kept], session[kept], "{kept}");
    }
    nick.patch(&format!("{}/sess_unknown", sessions()), json!({ "ended_at": end })).await.refusal_code(404);
    nick.get(&format!("{}/sess_unknown", sessions())).await.refusal_code(404);
}

/// A session is begun as oneself, with an actor that is one.
#[tokio::test]
async fn ap_57_a_session_is_ones_own() {
    let (server, nick) = room().await;
    let body = json!({"actor_id": "jordan", "actor_type": "human"});
    nick.post(&sessions(), body.clone()).await.assert_refused(403, "unauthorized");
    assert_eq!(server.operator().post(&sessions(), body).await.ok(201)["actor_id"], "jordan");
    for (body, field) in [
        (json!({"actor_id": 7}), "actor_id"),
        (json!({"actor_type": "robot"}), "actor_type"),
        (json!({"actor_type": 7}), "actor_type"),
    ] {
        let response = nick.post(&sessions(), body).await;
        response.assert_refused(400, "invalid_schema");
        super::speak::assert_field(&response, field);
    }
    assert_eq!(list(&nick.get(&sessions()).await.ok(200), "sessions").len(), 1);
}

/// AP-13: a package may name a session that nobody began.
#[tokio::test]
async fn ap_13_sessions_are_optional() {
    let (_server, nick) = desk().await;
    // D.4: only a deposit or an assertion makes a project.
    nick.post(&sessions(), json!({})).await.assert_refused(404, "project_not_found");
    nick.get(&sessions()).await.assert_refused(404, "project_not_found");
    let by = json!({"created_by": {"id": nick.handle, "type": "agent", "session_id": "sess_elsewhere"}});
    deposited(&nick, &package_with("", "one", by)).await;
    assert_eq!(list(&nick.get(&sessions()).await.ok(200), "sessions").len(), 0);
}
