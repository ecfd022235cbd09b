//! Agent Protocol: an agent behind the server gets a request, uses a tool, makes a document, asks a question, and is
//! canceled.
//! Must not know: how an agent is hosted.

use anyhow::{Context as _, ensure};
use http::Method;
use plenary_client::runs::{Chat, EventBody, FinishReason, RunEvent, RunReceipt, RunStream};
use serde_json::{Map, Value, json};

use super::{stage::Stage, walkthrough::session_event};

const CALLER: &str = "@nick.cc-laptop";
const AGENT: &str = "echo";
const HANDLE: &str = "@plenary.echo";
const INPUT: &str = "Summarise the port";

/// Plays the scene; the caller is connected.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("The laptop looks which agents the server runs, and what the first can do.")?;
    let agents = stage.request(CALLER, Method::GET, "/", None, 200).await?;
    ensure!(agents == json!([[AGENT, "/agent/echo"]]), "there is the built-in one: {agents}");
    let described = stage.request(CALLER, Method::GET, "/agent/echo/describe", None, 200).await?;
    ensure!(described["operations"][0]["name"] == "chat", "whoever is an agent can be asked: {described}");

    stage.note("It is asked; its events come as they happen: a tool, a document, text, the end.")?;
    let (run, mut stream) = ask(stage, json!(["tool_call", "artifact", "deltas"]), None).await?;
    expect(stage, &mut stream, "RunStarted").await?;
    expect(stage, &mut stream, "ToolCall").await?;
    expect(stage, &mut stream, "ToolResult").await?;
    let artifact = expect(stage, &mut stream, "ArtifactGenerated").await?;
    let output = expect(stage, &mut stream, "TextOutput").await?;
    ensure!(output.body == EventBody::TextOutput { content: INPUT.into() }, "it echoes: {}", output.json());
    ends(stage, &mut stream, FinishReason::Success).await?;
    let EventBody::ArtifactGenerated { artifact_id: Some(id), .. } = &artifact.body else {
        anyhow::bail!("the document has an id: {}", artifact.json())
    };
    let fetched = stage.client(CALLER)?.artifact(id).await.context("the document")?;
    ensure!(fetched.content == INPUT, "the document holds the input: {:?}", fetched.content);
    stage.action(CALLER, "fetches", &format!("/artifacts/{id}: {} bytes", fetched.content.len()))?;

    stage.note("The thread goes on: this time the agent asks back and waits.")?;
    let (question, mut stream) = ask(stage, json!(["wait_for_input"]), Some(run.thread_id.clone())).await?;
    expect(stage, &mut stream, "RunStarted").await?;
    expect(stage, &mut stream, "WaitForInput").await?;
    let report = format!("/agent/echo/runs/{}", question.run_id);
    let waiting = stage.request(CALLER, Method::GET, &report, None, 200).await?;
    ensure!(waiting["status"] == "waiting", "it waits: {waiting}");
    let answer =
        json!({"type": "ResumeWithInput", "run_id": question.run_id, "request_keys": {"reply": "yes"}});
    stage.request(CALLER, Method::POST, "/agent/echo/run", Some(answer), 202).await?;
    let replied = expect(stage, &mut stream, "TextOutput").await?;
    ensure!(replied.json().contains("yes"), "the answer came to it: {}", replied.json());
    expect(stage, &mut stream, "TextOutput").await?;
    ends(stage, &mut stream, FinishReason::Success).await?;

    stage.note("The last one takes too long, and is told to stop.")?;
    let (slow, mut stream) = ask(stage, json!(["slow"]), Some(run.thread_id)).await?;
    expect(stage, &mut stream, "RunStarted").await?;
    let cancel = json!({"type": "CancelRequest", "run_id": slow.run_id});
    stage.request(CALLER, Method::POST, "/agent/echo/run", Some(cancel), 202).await?;
    ends(stage, &mut stream, FinishReason::Canceled).await?;
    let threads = stage.request(CALLER, Method::GET, "/agent/echo/threads", None, 200).await?;
    ensure!(threads[0]["runs"].as_array().is_some_and(|runs| runs.len() == 3), "all in one: {threads}");
    in_a_session(stage).await
}

/// The agent takes part in a session like any other.
async fn in_a_session(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene("The same agent in a conversation").await?;
    stage.note(
        "The agent has an address like everybody. Once its list admits the laptop, it can be invited.",
    )?;
    let invitation = json!({"invite": [HANDLE], "initial_message": {"content": INPUT}});
    stage.request(CALLER, Method::POST, "/sessions", Some(invitation.clone()), 404).await?;
    stage.admits(HANDLE, CALLER).await?;
    let opened = stage.request(CALLER, Method::POST, "/sessions", Some(invitation), 201).await?;
    let session = opened["session_id"].as_str().context("a session id")?.to_owned();
    stage.event(CALLER, session_event("message", &session, json!({"sender": CALLER, "sequence": 1}))).await?;
    stage.event(CALLER, session_event("invited", &session, json!({"invitee": HANDLE}))).await?;
    stage.note("It joins by itself, the message becomes a run, and what the run says is its answer.")?;
    stage.event(CALLER, session_event("joined", &session, json!({"agent": HANDLE}))).await?;
    let answer = json!({"sender": HANDLE, "content": INPUT, "sequence": 4});
    stage.event(CALLER, session_event("message", &session, answer)).await?;
    Ok(())
}

async fn ask(
    stage: &mut Stage,
    steps: Value,
    thread: Option<String>,
) -> anyhow::Result<(RunReceipt, RunStream)> {
    let mut metadata = Map::new();
    metadata.insert("demo".into(), steps);
    let chat =
        Chat { input: INPUT.into(), thread_id: thread, request_metadata: Some(metadata), ..Chat::default() };
    stage.ask(CALLER, AGENT, &chat).await
}

async fn expect(stage: &mut Stage, stream: &mut RunStream, kind: &str) -> anyhow::Result<RunEvent> {
    stage.run_event(CALLER, stream, kind).await
}

async fn ends(stage: &mut Stage, stream: &mut RunStream, reason: FinishReason) -> anyhow::Result<()> {
    let end = expect(stage, stream, "RunCompleted").await?;
    ensure!(end.finish_reason() == Some(reason), "it ends with {reason:?}: {}", end.json());
    Ok(())
}
