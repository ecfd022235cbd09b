//! ASP §7.1: a question across organisations, from the first invitation to the reopening two days later.

use anyhow::Context as _;
use http::Method;
use plenary_client::accounts::Policy;
use serde_json::{Value, json};

use super::stage::Stage;

pub(super) const NICK: &str = "@nick.assistant";
pub(super) const SUPPORT: &str = "@acme.support";
pub(super) const ENGINEER: &str = "@acme.engineer";

/// Plays the scene; returns the session, active again, with Nick and support joined.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<String> {
    stage.note("Two owners, three agents; Acme's engineer takes messages from Acme alone.")?;
    stage.enter(NICK, Policy::Open, &[]).await?;
    stage.enter(SUPPORT, Policy::Open, &[]).await?;
    stage.enter(ENGINEER, Policy::Allowlist, &["@acme.*"]).await?;
    let session = create(stage).await?;
    join(stage, &session).await?;
    stage.scene("A colleague is brought in").await?;
    bring_in_the_engineer(stage, &session).await?;
    resolve(stage, &session).await?;
    stage.scene("Two days later").await?;
    reopen(stage, &session).await?;
    Ok(session)
}

fn path(session: &str, verb: &str) -> String {
    format!("/sessions/{session}/{verb}")
}

pub(super) fn session_event(kind: &str, session: &str, more: Value) -> Value {
    let mut expected = json!({"type": format!("session.{kind}"), "session_id": session});
    if let (Value::Object(expected), Value::Object(more)) = (&mut expected, more) {
        expected.extend(more);
    }
    expected
}

async fn create(stage: &mut Stage) -> anyhow::Result<String> {
    stage.note("Nick asks Acme. The message waits for whoever joins.")?;
    let question = "Hi, having trouble with the widget v3 export feature. Is there a known issue?";
    let topic = "Question about widget v3 export";
    let body = json!({
        "invite": [SUPPORT], "topic": topic, "initial_message": {"content": question}, "idempotency_key": "demo-1",
    });
    let created = stage.request(NICK, Method::POST, "/sessions", Some(body), 201).await?;
    let session = created["session_id"].as_str().context("a session id")?.to_owned();
    stage
        .event(
            NICK,
            session_event("message", &session, json!({"sequence": 1, "sender": NICK, "content": question})),
        )
        .await?;
    stage.event(NICK, session_event("invited", &session, json!({"sequence": 2}))).await?;
    let invited = session_event("invited", &session, json!({"by": NICK, "topic": topic, "sequence": 2}));
    let invitation = stage.event(SUPPORT, invited).await?;
    anyhow::ensure!(invitation.get("initial_message").is_none(), "an invitation carries no content");

    stage.note("For a stranger the engineer is absent, like an agent that does not exist.")?;
    for unreachable in [ENGINEER, "@acme.nobody"] {
        stage.request(NICK, Method::POST, "/sessions", Some(json!({"invite": [unreachable]})), 404).await?;
    }
    Ok(session)
}

async fn join(stage: &mut Stage, session: &str) -> anyhow::Result<()> {
    stage.note("Support joins: first the transcript, then its own joining.")?;
    stage.request(SUPPORT, Method::POST, &path(session, "join"), None, 200).await?;
    stage.event(SUPPORT, session_event("message", session, json!({"sequence": 1}))).await?;
    stage.event(SUPPORT, session_event("joined", session, json!({"agent": SUPPORT, "sequence": 3}))).await?;
    stage.event(NICK, session_event("joined", session, json!({"agent": SUPPORT, "sequence": 3}))).await?;
    Ok(())
}

/// Sends a message; every joined agent gets it, the sender included.
pub(super) async fn send_message(
    stage: &mut Stage,
    session: &str,
    sender: &'static str,
    content: Value,
    audience: &[&'static str],
) -> anyhow::Result<()> {
    let sent = stage
        .request(sender, Method::POST, &path(session, "messages"), Some(json!({"content": content})), 201)
        .await?;
    let expected =
        json!({"sequence": sent["sequence"], "id": sent["message_id"], "sender": sender, "content": content});
    for reader in audience {
        stage.event(reader, session_event("message", session, expected.clone())).await?;
    }
    Ok(())
}

async fn bring_in_the_engineer(stage: &mut Stage, session: &str) -> anyhow::Result<()> {
    stage.note("Support answers and brings in a colleague, whose allowlist has @acme.*.")?;
    send_message(
        stage,
        session,
        SUPPORT,
        json!("Looking into it. Bringing in our engineer."),
        &[NICK, SUPPORT],
    )
    .await?;
    let invited = stage
        .request(SUPPORT, Method::POST, &path(session, "invite"), Some(json!({"invite": [ENGINEER]})), 200)
        .await?;
    anyhow::ensure!(invited["invited"] == json!([ENGINEER]), "the engineer is invited");
    for reader in [NICK, SUPPORT, ENGINEER] {
        stage.event(reader, session_event("invited", session, json!({"by": SUPPORT}))).await?;
    }
    stage.request(ENGINEER, Method::POST, &path(session, "join"), None, 200).await?;
    for sequence in [1, 2, 3, 4] {
        stage.event(ENGINEER, json!({"session_id": session, "sequence": sequence})).await?;
    }
    for reader in [ENGINEER, NICK, SUPPORT] {
        stage.event(reader, session_event("joined", session, json!({"agent": ENGINEER}))).await?;
    }
    let report = json!([
        {"type": "text", "text": "Known issue; this is the hotfix."},
        {"type": "file", "url": "https://acme.example/hotfix-3.1.tgz", "name": "hotfix-3.1.tgz"},
        {"type": "data", "data": {"action": "apply", "version": "3.1"}},
    ]);
    send_message(stage, session, ENGINEER, report, &[NICK, SUPPORT, ENGINEER]).await
}

async fn resolve(stage: &mut Stage, session: &str) -> anyhow::Result<()> {
    stage.note("The engineer leaves; Nick confirms and ends the session. The transcript stays.")?;
    stage.request(ENGINEER, Method::POST, &path(session, "leave"), None, 200).await?;
    for reader in [NICK, SUPPORT, ENGINEER] {
        stage.event(reader, session_event("left", session, json!({"agent": ENGINEER}))).await?;
    }
    send_message(stage, session, NICK, json!("The hotfix works. Thanks!"), &[NICK, SUPPORT]).await?;
    stage.request(NICK, Method::POST, &path(session, "end"), None, 200).await?;
    for reader in [NICK, SUPPORT] {
        stage.event(reader, session_event("ended", session, json!({}))).await?;
    }
    let body = json!({"content": "one more thing"});
    stage.request(NICK, Method::POST, &path(session, "messages"), Some(body), 409).await?;
    let log = stage.request(NICK, Method::GET, &path(session, "events?after_sequence=7"), None, 200).await?;
    anyhow::ensure!(
        log["events"].as_array().is_some_and(|events| events.len() == 3),
        "three events behind 7"
    );
    Ok(())
}

async fn reopen(stage: &mut Stage, session: &str) -> anyhow::Result<()> {
    stage.note("Nick opens the same session again, with the same transcript.")?;
    let follow_up = "Quick follow-up: is the same hotfix relevant for the import side too?";
    let body = json!({"invite": [SUPPORT], "initial_message": {"content": follow_up}});
    stage.request(NICK, Method::POST, &path(session, "reopen"), Some(body), 200).await?;
    stage.event(NICK, session_event("reopened", session, json!({"reopened_by": NICK}))).await?;
    stage.event(NICK, session_event("message", session, json!({"content": follow_up}))).await?;
    stage.event(NICK, session_event("invited", session, json!({"invitee": SUPPORT}))).await?;
    stage.event(SUPPORT, session_event("reopened", session, json!({}))).await?;
    stage.event(SUPPORT, session_event("invited", session, json!({"by": NICK}))).await?;
    stage.request(SUPPORT, Method::POST, &path(session, "join"), None, 200).await?;
    stage.event(SUPPORT, session_event("message", session, json!({"content": follow_up}))).await?;
    for reader in [SUPPORT, NICK] {
        stage.event(reader, session_event("joined", session, json!({"agent": SUPPORT}))).await?;
    }
    let shown = stage.request(SUPPORT, Method::GET, &format!("/sessions/{session}"), None, 200).await?;
    anyhow::ensure!(shown["state"] == "active", "the session is active again");
    Ok(())
}
