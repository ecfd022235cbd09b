//! ASP §7.2: send-and-end, and a transport that drops within and beyond the grace window.

use anyhow::Context as _;
use http::Method;
use serde_json::json;

use super::{
    stage::Stage,
    walkthrough::{ENGINEER, NICK, SUPPORT, send_message, session_event},
};

/// A message in an invitation: the sender waits for nobody.
pub(super) async fn send_and_end(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("Send and end: the invitation carries the one message, and the session has ended.")?;
    let content = "FYI: widget v3 working after the hotfix. Thanks!";
    let body = json!({"invite": [SUPPORT], "initial_message": {"content": content}, "end_after_send": true});
    let created = stage.request(NICK, Method::POST, "/sessions", Some(body), 201).await?;
    let session = created["session_id"].as_str().context("a session id")?.to_owned();
    stage.event(NICK, session_event("message", &session, json!({"sequence": 1}))).await?;
    stage.event(NICK, session_event("invited", &session, json!({"sequence": 2}))).await?;
    stage.event(NICK, session_event("ended", &session, json!({"sequence": 3}))).await?;
    let invitation = stage.event(SUPPORT, session_event("invited", &session, json!({"by": NICK}))).await?;
    anyhow::ensure!(
        invitation["initial_message"]["content"] == content,
        "the invitation carries the message"
    );
    stage.event(SUPPORT, session_event("ended", &session, json!({}))).await?;
    Ok(())
}

/// The engineer's host loses its connection for a moment.
pub(super) async fn drop_within_grace(stage: &mut Stage, session: &str) -> anyhow::Result<()> {
    stage.note("The engineer is invited back; its connection drops and returns within the grace window.")?;
    let body = json!({"invite": [ENGINEER]});
    stage.request(SUPPORT, Method::POST, &format!("/sessions/{session}/invite"), Some(body), 200).await?;
    for reader in [NICK, SUPPORT] {
        stage.event(reader, session_event("invited", session, json!({"invitee": ENGINEER}))).await?;
    }
    let invited = stage.event(ENGINEER, session_event("invited", session, json!({}))).await?;
    stage.request(ENGINEER, Method::POST, &format!("/sessions/{session}/join"), None, 200).await?;
    // This client gets no event twice; it gets the events since it left.
    let (left_at, before) = (8, invited["sequence"].as_u64().context("a sequence")?);
    for sequence in (left_at + 1)..before {
        stage.event(ENGINEER, json!({"session_id": session, "sequence": sequence})).await?;
    }
    for reader in [ENGINEER, NICK, SUPPORT] {
        stage.event(reader, session_event("joined", session, json!({"agent": ENGINEER}))).await?;
    }

    stage.drop_connection(ENGINEER)?;
    for reader in [NICK, SUPPORT] {
        stage.event(reader, session_event("disconnected", session, json!({"agent": ENGINEER}))).await?;
    }
    let missed = json!("The import side is affected too.");
    send_message(stage, session, SUPPORT, missed.clone(), &[NICK, SUPPORT]).await?;
    stage.connect(ENGINEER).await?;
    // A new client may get unconfirmed events again, in order and without a gap.
    loop {
        let event = stage.event(ENGINEER, json!({"session_id": session})).await?;
        if event["type"] == "session.message" && event["content"] == missed {
            break;
        }
    }
    for reader in [ENGINEER, NICK, SUPPORT] {
        stage.event(reader, session_event("reconnected", session, json!({"agent": ENGINEER}))).await?;
    }
    Ok(())
}

/// The engineer's host crashes.
pub(super) async fn drop_beyond_grace(stage: &mut Stage, session: &str) -> anyhow::Result<()> {
    stage.note("It drops again and stays away: the grace window ends, and it has left.")?;
    stage.drop_connection(ENGINEER)?;
    for reader in [NICK, SUPPORT] {
        stage.event(reader, session_event("disconnected", session, json!({"agent": ENGINEER}))).await?;
    }
    for reader in [NICK, SUPPORT] {
        let payload = json!({"agent": ENGINEER, "reason": "grace_expired"});
        stage.event(reader, session_event("left", session, payload)).await?;
    }
    let body = json!({"content": "I am back"});
    stage.request(ENGINEER, Method::POST, &format!("/sessions/{session}/messages"), Some(body), 409).await?;
    stage.note("It comes back only by invitation, like anyone.")?;
    Ok(())
}
