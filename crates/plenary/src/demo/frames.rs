//! Agent-Channel Fan-Out: three coding sessions of one person, by advisory, question, handover and convergence.

use plenary_client::{
    accounts::Policy,
    frames::{Advisory, FlushExecuted, Frame, Handover, IntentDeclare, Payload, Query, Response, Uuid, now},
};
use serde_json::json;

use super::stage::{Stage, sovereign};

const LAPTOP: &str = "@nick.cc-laptop";
const DESKTOP: &str = "@nick.cc-desktop";
const REVIEWER: &str = "@nick.reviewer";
const EVERYONE: [&str; 3] = [LAPTOP, DESKTOP, REVIEWER];
const ALL: &str = "~nick/*";
/// The class of the batched effect.
const CLASS: &str = "git.change-request";

/// Plays the scene.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("Frames: three coding sessions of Nick's listen, each on a stream of its own.")?;
    for (agent, session) in [(LAPTOP, "s-1"), (DESKTOP, "s-2"), (REVIEWER, "s-3")] {
        stage.enter(agent, Policy::Open, &[]).await?;
        stage.listen(agent, session).await?;
    }
    advise(stage).await?;
    ask(stage).await?;
    stage.scene("Work moves on, and three plans become one").await?;
    hand_over(stage).await?;
    converge(stage).await
}

async fn advise(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("The laptop says what it is doing, to all of Nick's sessions at once, its own too.")?;
    let advisory = Advisory {
        advisory_text: "Editing the export; please keep out of it.".to_owned(),
        file_refs: Some(vec!["src/export.rs".to_owned()]),
        branch: Some("export-v3".to_owned()),
        ..Advisory::default()
    };
    stage.submit(LAPTOP, &Payload::Advisory(advisory), ALL, 3).await?;
    for reader in EVERYONE {
        stage.frame(reader, "agent_advisory", json!({"branch": "export-v3"})).await?;
    }
    Ok(())
}

async fn ask(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("It asks the others; their answers go to the session that asked, and to no other.")?;
    let query_id = Uuid::random();
    let query = Query {
        query_text: "Is anyone in the middle of a migration?".to_owned(),
        query_id: query_id.clone(),
        response_scope: "~nick/cc-laptop@s-1".to_owned(),
        timeout_ms: 5_000,
    };
    stage.submit(LAPTOP, &Payload::Query(query), ALL, 3).await?;
    for reader in EVERYONE {
        stage.frame(reader, "agent_query", json!({"query_id": query_id.as_str()})).await?;
    }
    for (agent, session, text) in
        [(DESKTOP, "s-2", "Yes, done within minutes."), (REVIEWER, "s-3", "No, only reading.")]
    {
        let response = Response {
            query_id: query_id.clone(),
            session_id: session.to_owned(),
            response_text: text.to_owned(),
            refs: None,
        };
        stage.submit(agent, &Payload::Response(response), "~nick/cc-laptop@s-1", 1).await?;
        let expected = json!({"query_id": query_id.as_str(), "session_id": session, "response_text": text});
        stage.frame(LAPTOP, "agent_response", expected).await?;
    }
    Ok(())
}

async fn hand_over(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("The laptop closes; its work goes on at the desktop, by name of instrument and session.")?;
    let handover = Handover {
        previous_session_id: "s-1".to_owned(),
        next_session_id: None,
        handover_body: "The export writes v3 now. Left: the import, and its tests.".to_owned(),
        pointer_refs: Some(vec!["src/import.rs".to_owned(), "export-v3".to_owned()]),
    };
    stage.submit(LAPTOP, &Payload::Handover(handover), "~nick/cc-desktop@s-2", 1).await?;
    stage.frame(DESKTOP, "agent_handover", json!({"previous_session_id": "s-1"})).await?;
    Ok(())
}

async fn converge(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note(
        "Three sessions mean to open a change request; each sees the others', and one opens it for all. Nobody was \
         elected, and the server kept no table.",
    )?;
    let refs = EVERYONE.map(|agent| format!("intent:{}", &agent["@nick.".len()..]));
    for (agent, payload_ref) in EVERYONE.into_iter().zip(&refs) {
        let intent = IntentDeclare {
            convergence_class: CLASS.to_owned(),
            payload_ref: payload_ref.clone(),
            acted_by: sovereign(agent)?,
            drafted_with: agent.replace("@nick.", "~"),
            declared_at: Frame::time(now()),
            ttl: 60_000,
            withdrawable: true,
            urgency: None,
        };
        stage.submit(agent, &Payload::IntentDeclare(intent), ALL, 3).await?;
        for reader in EVERYONE {
            stage.frame(reader, "intent_declare", json!({"payload_ref": payload_ref})).await?;
        }
    }
    let flush = FlushExecuted {
        convergence_class: CLASS.to_owned(),
        result_ref: "change-request:42".to_owned(),
        batch_refs: Some(refs.to_vec()),
        executed_at: Frame::time(now()),
    };
    stage.submit(DESKTOP, &Payload::FlushExecuted(flush), ALL, 3).await?;
    for reader in EVERYONE {
        stage
            .frame(reader, "flush_executed", json!({"result_ref": "change-request:42", "batch_refs": refs}))
            .await?;
    }
    Ok(())
}
