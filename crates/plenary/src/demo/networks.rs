//! Links: the network of another operator. Both operators agree to an accord; then a frame, a session, a channel, a
//! project and a run go from one network to the other, until one side revokes the accord.

use anyhow::{Context as _, ensure};
use http::Method;
use plenary_client::{
    accounts::Policy,
    frames::{Advisory, Payload},
};
use serde_json::{Value, json};

use super::{stage::Stage, walkthrough::session_event};
use crate::server::{OperatorToken, Server, Settings};

const NICK: &str = "@nick.cc-laptop";
const IDA: &str = "@ida.bot";
/// Ida's agent, as Nick's network names it, and his as hers does.
const IDA_HERE: &str = "@ida-at-rose.bot";
const NICK_THERE: &str = "@nick-at-home.cc-laptop";
/// The two operators.
const OPERATORS: [&str; 2] = ["Nick's operator", "Rose's operator"];
/// The agent that Nick's server runs.
const HELPER: &str = "@plenary.echo";

/// Settings of a server that other networks on this machine can reach: a URL that is known before it listens.
///
/// # Errors
/// No port is free.
pub(super) fn reachable(mut settings: Settings) -> anyhow::Result<Settings> {
    let free = std::net::TcpListener::bind(settings.listen).context("a free port")?;
    settings.listen = free.local_addr()?;
    settings.public_url = Some(format!("http://{}", settings.listen));
    settings.links.private_addresses = true;
    Ok(settings)
}

/// Plays the scenes; Nick's laptop is connected and listens.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let directory = tempfile::Builder::new().prefix("plenary-demo-").tempdir()?;
    let mut operator = OperatorToken::of_directory(directory.path())?;
    let rose = Server::start(reachable(Settings::ephemeral())?, &mut operator).await?;
    let played = across(stage, &rose, &operator).await;
    for player in [IDA, OPERATORS[0], OPERATORS[1]] {
        stage.dismiss(player).await;
    }
    rose.stop().await?;
    played
}

async fn across(stage: &mut Stage, rose: &Server, operator: &OperatorToken) -> anyhow::Result<()> {
    let home = stage.url();
    stage.note(&format!("Rose is another organisation, with a server of its own on {}.", rose.url()))?;
    stage.open_network((rose.url(), operator.secret()), OPERATORS)?;
    let [nicks, roses] = OPERATORS;
    stage.enter_network(IDA, Policy::Allowlist, &[NICK_THERE]).await?;
    stage.note("Its operator invites Nick's network, whose operator accepts; each says who takes part.")?;
    let invitation = json!({"network": home, "peer": "home", "grants": {"sales": ["ida"]}});
    let invited = stage.request(roses, Method::POST, "/_admin/peers", Some(invitation), 201).await?;
    let acceptance = json!({
        "network": rose.url(), "peer": "rose", "code": invited["code"],
        "grants": {"team": ["nick", "plenary"]},
    });
    stage.request(nicks, Method::POST, "/_admin/peers/accept", Some(acceptance), 201).await?;
    stage.lists(NICK, IDA_HERE).await?;

    stage.note("A frame reaches agents of the owners in a grant; a conversation is with one agent.")?;
    let advisory = Advisory { advisory_text: "The price list is out.".to_owned(), ..Advisory::default() };
    stage.submit(IDA, &Payload::Advisory(advisory), "accord:home/grant:team", 1).await?;
    stage.frame(NICK, "agent_advisory", json!({"advisory_text": "The price list is out."})).await?;
    let invitation = json!({"invite": [IDA_HERE], "initial_message": {"content": "Which day?"}});
    let opened = stage.request(NICK, Method::POST, "/sessions", Some(invitation), 201).await?;
    let session = opened["session_id"].as_str().context("a session id")?.to_owned();
    stage.event(IDA, session_event("invited", &session, json!({"invitee": IDA, "by": NICK_THERE}))).await?;
    let path = format!("/sessions/{session}");
    stage.request(IDA, Method::POST, &format!("{path}/join"), None, 200).await?;
    let answer = json!({"content": "On Monday."});
    stage.request(IDA, Method::POST, &format!("{path}/messages"), Some(answer), 201).await?;
    let is_answer = |event: &Value| event["sender"] == IDA_HERE && event["content"] == "On Monday.";
    stage.until(NICK, is_answer).await?;

    stage.scene("A channel, a project and a run of another network").await?;
    stage.note("They stay at Nick's server, and Ida's agent uses them there under its rules.")?;
    let title = json!({"title": "The price list"});
    let channel = stage.request(NICK, Method::POST, "/agent-channel", Some(title), 200).await?;
    let channel = format!("/agent-channel/{}", channel["id"].as_str().context("the channel has an id")?);
    let post = json!({"kind": "comms", "payload": {"text": "Is 1.50 right?"}});
    let at_home = |path: &str| format!("/peers/home{path}");
    let posted =
        stage.request(IDA, Method::POST, &at_home(&format!("{channel}/event")), Some(post), 200).await?;
    ensure!(posted["via"] == IDA_HERE, "the channel says who: {posted}");
    stage.request(NICK, Method::GET, &channel, None, 200).await?;

    let project = "/v1/projects/nick%3Aprices/packages";
    stage.request(NICK, Method::POST, project, Some(package(NICK, "The price list")), 201).await?;
    stage.shares("nick:prices", IDA_HERE).await?;
    let copy = stage.request(IDA, Method::GET, &at_home(project), None, 200).await?;
    ensure!(copy["packages"][0]["title"] == "The price list", "the package crosses: {copy}");
    let comment = package(IDA_HERE, "Comments on the price list");
    stage.request(IDA, Method::POST, &at_home(project), Some(comment), 201).await?;

    stage.lists(HELPER, IDA_HERE).await?;
    let question = json!({"input": "How much?"});
    let run = at_home("/agent/echo/run?wait=result");
    let ended = stage.request(IDA, Method::POST, &run, Some(question), 200).await?;
    ensure!(ended["result"] == "How much?", "the run ended: {ended}");

    stage.note("Either side ends it at once.")?;
    stage.request(nicks, Method::DELETE, "/_admin/peers/rose", None, 204).await?;
    stage.request(IDA, Method::GET, &at_home(&channel), None, 404).await?;
    Ok(())
}

fn package(author: &str, title: &str) -> Value {
    json!({
        "package_id": format!("pkg_{}", title.to_lowercase().replace(' ', "_")), "project_id": "prices",
        "relay_version": "0.1", "title": title, "status": "complete", "package_type": "standard",
        "review_type": "none", "created_at": "2026-11-02T09:00:00Z",
        "created_by": {"id": author, "type": "agent"},
    })
}
