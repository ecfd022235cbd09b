//! Agentic Protocol: knowledge outlives its session. A package is deposited, a second agent is briefed, a fact
//! changes, and a person approves a package.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::Method;
use plenary_client::{context::new_package_id, frames::now};
use plenary_kernel::rfc3339::Utc;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::stage::Stage;

const LAPTOP: &str = "@nick.cc-laptop";
const DESKTOP: &str = "@nick.cc-desktop";
const NICK: &str = "nick";
const PROJECT: &str = "/v1/projects/parser";
/// How long a deposit may take to be found by a search.
const SEARCHABLE_IN: Duration = Duration::from_secs(5);
/// The pause between two searches.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Plays the scene; both agents are connected.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    deposit(stage).await?;
    orient(stage).await?;
    supersede(stage).await?;
    stage.scene("A person approves, and a search finds").await?;
    review(stage).await?;
    search(stage).await
}

fn package(author: (&str, &str), title: &str, more: Value) -> Value {
    let mut package = json!({
        "package_id": new_package_id(), "project_id": "parser", "relay_version": "0.1", "title": title,
        "status": "complete", "package_type": "standard", "review_type": "none", "created_at": Utc(now()).to_string(),
        "created_by": {"id": author.0, "type": author.1},
    });
    if let (Value::Object(package), Value::Object(more)) = (&mut package, more) {
        package.extend(more);
    }
    package
}

async fn put(stage: &mut Stage, author: &'static str, package: &Value) -> anyhow::Result<Value> {
    let body = Some(package.clone());
    let stored = stage.request(author, Method::POST, &format!("{PROJECT}/packages"), body, 201).await?;
    for (member, sent) in package.as_object().into_iter().flatten() {
        ensure!(&stored[member] == sent, "`{member}` comes back as it was sent: {stored}");
    }
    let hash = plenary_client::context::content_hash(package);
    ensure!(stored["content_hash"] == hash, "the hash is that of the canonical form, {hash}: {stored}");
    Ok(stored)
}

async fn deposit(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note(
        "Context: the laptop deposits what it did, what was decided, what is open, and what the next one needs to know. \
         The project is made with it.",
    )?;
    let more = json!({
        "decisions_made": ["The lexer keeps byte offsets, not columns", "No regular expressions"],
        "open_questions": ["Do we need UTF-16 positions?"], "handoff_note": "Begin with src/parse.rs; the lexer is done.",
        "estimated_next_actor": "agent", "x-trust": 0.9,
    });
    let ported = package((LAPTOP, "agent"), "Ported the lexer", more);
    put(stage, LAPTOP, &ported).await?;
    stage.note("Deposited again it is the same package; other content under its id is refused.")?;
    let path = format!("{PROJECT}/packages");
    stage.request(LAPTOP, Method::POST, &path, Some(ported.clone()), 200).await?;
    let mut other = ported;
    other["title"] = "Ported nothing".into();
    stage.request(LAPTOP, Method::POST, &path, Some(other), 409).await?;
    Ok(())
}

async fn orient(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("The desktop wakes up knowing nothing; one request tells it where the work is.")?;
    let bundle = stage.request(DESKTOP, Method::GET, &format!("{PROJECT}/orient"), None, 200).await?;
    let newest = &bundle["recent_packages"][0];
    ensure!(newest["handoff_note"] == "Begin with src/parse.rs; the lexer is done.", "the handoff: {newest}");
    ensure!(
        bundle["open_questions"][0]["question"] == "Do we need UTF-16 positions?",
        "the question: {bundle}"
    );
    Ok(())
}

async fn supersede(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note(
        "Facts are what is true now. A new one ends the old one in the same write, and the old one stays.",
    )?;
    let path = format!("{PROJECT}/facts");
    let fact = |value: &str| json!({"subject": "parser", "predicate": "status", "value": value});
    let first = stage.request(DESKTOP, Method::POST, &path, Some(fact("in progress")), 201).await?;
    let second = stage.request(DESKTOP, Method::POST, &path, Some(fact("done")), 201).await?;
    let query = format!("{path}?subject=parser&predicate=status");
    let current = stage.request(LAPTOP, Method::GET, &query, None, 200).await?;
    ensure!(values(&current) == ["done"], "one value is current: {current}");
    let since = first["valid_from"].as_str().context("a fact has its time")?;
    let before = stage.request(LAPTOP, Method::GET, &format!("{query}&as_of={since}"), None, 200).await?;
    ensure!(values(&before) == ["in progress"], "what was true then: {before}");
    ensure!(before["facts"][0]["valid_to"] == second["valid_from"], "no gap and no overlap: {before}");
    Ok(())
}

fn values(facts: &Value) -> Vec<&str> {
    facts["facts"].as_array().into_iter().flatten().filter_map(|fact| fact["value"].as_str()).collect()
}

async fn review(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note(
        "The desktop asks a human before it goes on. Nick, a person, sends it back once, and then approves.",
    )?;
    stage.admit(NICK).await?;
    let more = json!({"status": "awaiting_review", "review_type": "human", "package_type": "decision"});
    let proposal = package((DESKTOP, "agent"), "Drop the old parser", more);
    put(stage, DESKTOP, &proposal).await?;
    let waiting = stage.request(NICK, Method::GET, &format!("{PROJECT}/reviews"), None, 200).await?;
    ensure!(waiting["packages"][0]["title"] == "Drop the old parser", "it is among what waits: {waiting}");
    let path = format!("/v1/packages/{}", proposal["package_id"].as_str().context("a package has its id")?);
    for (reviewer, status, note) in [
        (NICK, "revision_requested", "Keep it one release longer."),
        (DESKTOP, "awaiting_review", "Kept behind a switch."),
        (NICK, "complete", "Fine."),
    ] {
        let answer = Some(json!({"status": status, "note": note}));
        let moved = stage.request(reviewer, Method::POST, &format!("{path}/review"), answer, 200).await?;
        ensure!(moved["status"] == status, "it is {status}: {moved}");
    }
    stage.note("What is complete never changes again.")?;
    let again = Some(json!({"status": "revision_requested"}));
    stage.request(NICK, Method::POST, &format!("{path}/review"), again, 400).await?;
    let log = stage.request(DESKTOP, Method::GET, &format!("{path}/reviews"), None, 200).await?;
    ensure!(log["reviews"].as_array().is_some_and(|steps| steps.len() == 4), "every step is kept: {log}");
    Ok(())
}

/// Searches, if the server has a search.
async fn search(stage: &mut Stage) -> anyhow::Result<()> {
    let conformance = stage.request(DESKTOP, Method::GET, "/v1/conformance", None, 200).await?;
    ensure!(conformance["conformance_level"] == "L3", "the level is declared: {conformance}");
    if conformance["capabilities"]["keyword_search"] != true {
        return Ok(());
    }
    stage.note("Months later somebody asks in other words; the nearest package comes first.")?;
    let path = format!("{PROJECT}/packages?mode=relevant&query=lexer%20offsets&limit=2");
    let until = Instant::now() + SEARCHABLE_IN;
    loop {
        let found = stage.request(DESKTOP, Method::GET, &path, None, 200).await?;
        if found["packages"][0]["package"]["title"] == "Ported the lexer" {
            return Ok(());
        }
        ensure!(Instant::now() < until, "the lexer's package comes first: {found}");
        sleep(LOOK_AGAIN).await;
    }
}
