//! Agent Channel Protocol v2: two agents hand work over on a channel; the second one knows only its URL.

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::{Value, json};

use super::stage::Stage;

const PLANNER: &str = "@nick.cc-laptop";
const PORTER: &str = "@nick.cc-desktop";

/// Plays the scene; both agents are connected.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("A channel: the laptop opens it, says what is to be done, and holds the work.")?;
    let title = json!({"title": "Port the parser"});
    let opened = stage.request(PLANNER, Method::POST, "/agent-channel", Some(title), 200).await?;
    let channel = format!("/agent-channel/{}", opened["id"].as_str().context("the channel has an id")?);
    let mission = json!({"mission": "Port the parser to Rust", "rules": ["keep its tests"], "links": {}});
    post(stage, PLANNER, &channel, "spec", mission).await?;
    post(stage, PLANNER, &channel, "state", state(PLANNER, PLANNER, "plan the port", "proposed")).await?;

    stage.note("The desktop gets the URL and nothing else; the view tells it the rest.")?;
    let view = stage.request(PORTER, Method::GET, &channel, None, 200).await?;
    ensure!(view["spec"]["mission"] == "Port the parser to Rust", "the view has the charter: {view}");
    ensure!(view["state"]["handoff"]["holder"] == PLANNER, "the view says who holds the work: {view}");
    let status = json!({"agent": PORTER, "phase": "ready", "note": "waiting for the plan"});
    post(stage, PORTER, &channel, "status", status).await?;

    stage.note(
        "The laptop hands the work over: the next state names the holder and what is expected of it.",
    )?;
    let next = state(PLANNER, PORTER, "port the lexer", "proposed");
    post(stage, PLANNER, &channel, "state", next).await?;
    let read = stage.request(PORTER, Method::GET, &format!("{channel}/state"), None, 200).await?;
    ensure!(read["handoff"]["holder"] == PORTER, "the desktop holds the work: {read}");
    post(stage, PORTER, &channel, "state", state(PORTER, PORTER, "port the lexer", "in_progress")).await?;
    post(stage, PORTER, &channel, "status", json!({"agent": PORTER, "phase": "working", "note": ""})).await?;
    let alive = stage.request(PLANNER, Method::GET, &format!("{channel}/presence"), None, 200).await?;
    let porter = alive["agents"].as_array().into_iter().flatten().find(|agent| agent["agent"] == PORTER);
    let porter = porter.context("the desktop is in the presence")?;
    ensure!(porter["presumed_dead"] == false, "the desktop is alive: {porter}");

    stage.note("It is done, handed back, and closed; everything stays readable.")?;
    post(stage, PORTER, &channel, "state", state(PORTER, PLANNER, "review the lexer", "done")).await?;
    let closed = stage.request(PLANNER, Method::POST, &format!("{channel}/close"), None, 200).await?;
    ensure!(closed["closed_at"].is_string(), "the channel is closed: {closed}");
    let states = format!("{channel}/events?kind=state");
    let states = stage.request(PORTER, Method::GET, &states, None, 200).await?;
    let holders = states.as_array().into_iter().flatten().map(|event| &event["payload"]["handoff"]["holder"]);
    let holders: Vec<&Value> = holders.collect();
    ensure!(holders == [PLANNER, PORTER, PORTER, PLANNER], "newest first, all of them: {holders:?}");
    Ok(())
}

async fn post(
    stage: &mut Stage,
    agent: &'static str,
    channel: &str,
    kind: &str,
    payload: Value,
) -> anyhow::Result<()> {
    let event = json!({"kind": kind, "payload": payload});
    let stored = stage.request(agent, Method::POST, &format!("{channel}/event"), Some(event), 200).await?;
    ensure!(stored["author"] == agent && stored["payload"] == payload, "it is stored as it came: {stored}");
    Ok(())
}

fn state(author: &str, holder: &str, expected: &str, lexer: &str) -> Value {
    json!({
        "protocol_version": 2,
        "updated_by": author,
        "handoff": {"holder": holder, "expected_action": expected},
        "concepts": [{"id": "lexer", "owner": PORTER, "status": lexer, "concept": "The lexer in Rust"}],
        "agents": {
            PLANNER: {"role": "orchestrator", "status": "ready"},
            PORTER: {"role": "worker", "status": "ready"},
        },
    })
}
