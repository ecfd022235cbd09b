//! The players of the demonstration: their requests and responses are printed as a story or raw, and checked.
//! Must not know: the script.

mod frames;
mod mcp;
mod runs;

use std::{collections::BTreeMap, future::pending, time::Duration};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::Method;
use plenary_client::{
    BaseUrl, Client, Event, Signal, Token,
    accounts::{CreateAgent, Policy},
    console::NewLink,
    live::{Live, LiveOptions},
};
use plenary_kernel::AllowEntry;
use serde_json::{Value, json};
use tokio::time::{interval, sleep, timeout};

use super::{
    echoes::Echoes,
    story::{self, StoryLine},
};
use crate::out::{Out, Style, clean};
use frames::Listener;
pub(super) use frames::sovereign;

/// How long a step may take.
const STEP: Duration = Duration::from_secs(10);
/// How long to wait for an audience in the console, if nobody is at the terminal.
const AUDIENCE_WAIT: Duration = Duration::from_secs(60);
/// How often to check for an audience.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// The pause between two deeds with an audience: much shorter than the grace window.
const PACE: Duration = Duration::from_millis(600);
/// The pause between two scenes with an audience.
const BETWEEN_SCENES: Duration = Duration::from_secs(3);

struct Player {
    client: Client,
    token: String,
    live: Option<Live>,
}

/// Prints the story, or the raw exchanges.
#[derive(Clone, Copy)]
pub(super) struct Voice {
    /// The output.
    pub(super) out: Out,
    /// Whether to print each exchange raw instead of the story.
    pub(super) raw: bool,
    /// Whether a person turns the pages.
    pub(super) pages: bool,
    /// The pause after each deed for the audience.
    pub(super) pace: Duration,
}

/// A server of the demonstration, and its operator.
struct Network {
    base: Client,
    operator: Client,
}

impl Network {
    fn new(url: &str, operator: &str) -> anyhow::Result<Self> {
        let base = Client::new(url.parse::<BaseUrl>()?)?;
        let operator = base.with_token(Token::new(operator)?);
        Ok(Self { base, operator })
    }
}

/// The demonstration in progress.
pub(super) struct Stage {
    home: Network,
    /// The network of another operator, while there is one.
    other: Option<Network>,
    players: BTreeMap<&'static str, Player>,
    listeners: BTreeMap<&'static str, Listener>,
    voice: Voice,
    /// The last deed and its player; its effects so far are in `echoes`.
    deed: (String, String),
    echoes: Echoes,
    scenes: usize,
    requests: usize,
    events: usize,
}

impl Stage {
    pub(super) fn new(url: &str, operator: &str, voice: Voice) -> anyhow::Result<Self> {
        Ok(Self {
            home: Network::new(url, operator)?,
            other: None,
            players: BTreeMap::new(),
            listeners: BTreeMap::new(),
            voice,
            deed: Default::default(),
            echoes: Echoes::default(),
            scenes: 0,
            requests: 0,
            events: 0,
        })
    }

    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    pub(super) fn events(&self) -> usize {
        self.events
    }

    /// Prints one exchange: as JSON, raw, or as a sentence about `actor`, if it is part of the story.
    fn exchange(
        &mut self,
        actor: &str,
        machine: &Value,
        raw: &str,
        line: Option<StoryLine>,
    ) -> anyhow::Result<()> {
        let Voice { out, raw: is_raw, .. } = self.voice;
        if out.is_json() {
            out.line(&machine.to_string())?;
        } else if is_raw {
            out.line(raw)?;
        } else {
            match line {
                // Repeated polling is printed once.
                Some(StoryLine::Deed(text)) if self.deed == (actor.to_owned(), text.clone()) => {}
                Some(StoryLine::Deed(text)) => {
                    out.line(&format!("  {} {}", out.paint(Style::Green, actor), clean(&text)))?;
                    self.deed = (actor.to_owned(), text);
                }
                Some(StoryLine::Echo(text)) => self.echoes.push(actor, &text),
                None => {}
            }
        }
        Ok(())
    }

    /// An action without a request.
    pub(super) fn action(&mut self, actor: &str, verb: &str, object: &str) -> anyhow::Result<()> {
        let machine = json!({"agent": actor, "does": verb, "what": object});
        self.exchange(actor, &machine, &format!("{actor} {verb} {object}"), story::act(verb, object))
    }

    /// Prints the effects of the last deed.
    fn print_echoes(&mut self) -> anyhow::Result<()> {
        let out = self.voice.out;
        for line in self.echoes.take(&self.deed.1) {
            out.line(&out.paint(Style::Dim, &format!("      {}", clean(&line))))?;
        }
        Ok(())
    }

    /// A note between steps.
    pub(super) fn note(&mut self, text: &str) -> anyhow::Result<()> {
        self.print_echoes()?;
        let follows = std::mem::take(&mut self.deed) != Default::default();
        let Voice { out, raw, .. } = self.voice;
        if out.is_json() {
            return Ok(out.line(&json!({"note": text}).to_string())?);
        }
        if follows || raw {
            out.line("")?;
        }
        out.wrapped(text).iter().try_for_each(|line| Ok(out.line(&out.paint(Style::Bold, line))?))
    }

    /// Starts a scene, on a new screen once the person has read the last one.
    pub(super) async fn scene(&mut self, title: &str) -> anyhow::Result<()> {
        let Voice { out, raw, pages, pace } = self.voice;
        if out.is_json() || raw {
            return Ok(());
        }
        self.print_echoes()?;
        self.scenes += 1;
        let title = format!("{}  {title}", self.scenes);
        if !pace.is_zero() && self.requests > 0 {
            sleep(BETWEEN_SCENES).await;
        }
        if pages && self.requests > 0 {
            out.line("")?;
            out.line(&out.paint(Style::Dim, "Enter: the next scene"))?;
            tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
        }
        if pages {
            out.bytes(b"\x1b[2J\x1b[H")?;
        } else {
            out.line("")?;
        }
        let rule = "─".repeat(title.chars().count());
        out.line(&out.paint(Style::Yellow, &title))?;
        Ok(out.line(&out.paint(Style::Yellow, &rule))?)
    }

    /// A sign-in link to the operator's console, at the page with live events.
    pub(super) async fn console(&self) -> anyhow::Result<String> {
        let link = NewLink { owner: None, role: None, person: None };
        let link = self.home.operator.console_link(&link).await.context("a link to the console")?.value;
        Ok(format!("{}&page=timeline", link.url))
    }

    /// Waits until somebody has opened the console, and then plays at a pace that can be followed, without a key for each
    /// scene. Without an audience, it continues as before.
    pub(super) async fn await_audience(&mut self) -> anyhow::Result<()> {
        let Voice { pages, .. } = self.voice;
        self.note(if pages {
            "The story begins when the console is open, or here with Enter."
        } else {
            "The story begins when the console is open, or in a minute."
        })?;
        let key = async {
            if !pages {
                return pending().await;
            }
            tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await
        };
        let late = async { if pages { pending().await } else { sleep(AUDIENCE_WAIT).await } };
        let is_watched = tokio::select! {
            watched = self.wait_for_audience() => watched.map(|()| true)?,
            key = key => key?.map(|_| false)?,
            () = late => false,
        };
        if is_watched {
            (self.voice.pages, self.voice.pace) = (false, PACE);
        }
        Ok(())
    }

    /// Returns when a session of the console is open.
    async fn wait_for_audience(&self) -> anyhow::Result<()> {
        let mut again = interval(LOOK_AGAIN);
        loop {
            again.tick().await;
            let reply = self.home.operator.raw(Method::GET, "/console/sessions", None).await?;
            let sessions: Value = serde_json::from_slice(&reply.body)?;
            if sessions["sessions"].as_array().is_some_and(|open| !open.is_empty()) {
                return Ok(());
            }
        }
    }

    /// Finishes the last deed before the next one, and pauses if there is an audience.
    pub(super) async fn pause(&mut self, line: Option<&StoryLine>) -> anyhow::Result<()> {
        if matches!(line, Some(StoryLine::Deed(_))) {
            self.print_echoes()?;
            sleep(self.voice.pace).await;
        }
        Ok(())
    }

    /// Registers an agent and connects it.
    pub(super) async fn enter(
        &mut self,
        handle: &'static str,
        policy: Policy,
        allowlist: &[&str],
    ) -> anyhow::Result<()> {
        let network = (self.home.base.clone(), self.home.operator.clone());
        self.enter_at(network, handle, policy, allowlist).await
    }

    /// Opens the network of another operator; both operators become players under these names.
    pub(super) fn open_network(
        &mut self,
        (url, operator): (&str, &str),
        [home, other]: [&'static str; 2],
    ) -> anyhow::Result<()> {
        let network = Network::new(url, operator)?;
        for (name, client) in [(home, &self.home.operator), (other, &network.operator)] {
            let player = Player { client: client.clone(), token: String::new(), live: None };
            self.players.insert(name, player);
        }
        self.other = Some(network);
        Ok(())
    }

    /// Registers an agent in the other network and connects it.
    pub(super) async fn enter_network(
        &mut self,
        handle: &'static str,
        policy: Policy,
        allowlist: &[&str],
    ) -> anyhow::Result<()> {
        let other = self.other.as_ref().context("there is another network")?;
        let network = (other.base.clone(), other.operator.clone());
        self.enter_at(network, handle, policy, allowlist).await
    }

    async fn enter_at(
        &mut self,
        (base, operator): (Client, Client),
        handle: &'static str,
        policy: Policy,
        allowlist: &[&str],
    ) -> anyhow::Result<()> {
        let mut agent = CreateAgent::new(handle.parse()?);
        agent.policy = Some(policy);
        agent.allowlist =
            allowlist.iter().map(|entry| entry.parse::<AllowEntry>()).collect::<Result<_, _>>()?;
        let created = operator.create_agent(&agent).await.with_context(|| format!("registering {handle}"))?;
        let token = created.value.token.clone();
        let client = base.with_token(Token::new(token.clone())?);
        self.players.insert(handle, Player { client, token, live: None });
        self.connect(handle).await
    }

    /// Adds a person: an owner, with its own token. It sends requests and has no event stream.
    pub(super) async fn admit(&mut self, owner: &'static str) -> anyhow::Result<()> {
        let created = self.home.operator.rotate_owner_token(&owner.parse()?).await;
        let token = created.with_context(|| format!("a token of {owner}"))?.value.token;
        let client = self.home.base.with_token(Token::new(token.clone())?);
        self.players.insert(owner, Player { client, token, live: None });
        self.action(owner, "comes in", "as a person")
    }

    /// The URL of the demonstration's own server.
    pub(super) fn url(&self) -> String {
        self.home.base.base().to_string()
    }

    /// Adds an entry to the allowlist of an agent that has an account.
    pub(super) async fn lists(&mut self, handle: &str, entry: &str) -> anyhow::Result<()> {
        let (path, body) = (format!("/_admin/agents/{handle}/allowlist"), json!({"entries": [entry]}));
        let reply = self.home.operator.raw(Method::POST, &path, Some(Bytes::from(body.to_string()))).await?;
        ensure!(reply.status == 200, "expected status 200, got {}", reply.status);
        self.action(handle, "admits", entry)
    }

    /// Makes an agent a writer of a project.
    pub(super) async fn shares(&mut self, project: &str, member: &str) -> anyhow::Result<()> {
        let path = format!("/v1/projects/{}/members/{member}", project.replace(':', "%3A"));
        let role = Bytes::from_static(b"{\"role\":\"writer\"}");
        let reply = self.home.operator.raw(Method::PUT, &path, Some(role)).await?;
        ensure!(reply.status == 200, "expected status 200, got {}", reply.status);
        self.action(project, "is shared with", member)
    }

    /// Passes over events of an agent until one fits.
    pub(super) async fn until(
        &mut self,
        handle: &'static str,
        fits: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<()> {
        while !fits(&self.event(handle, Value::Null).await?) {}
        Ok(())
    }

    /// Disconnects one player.
    pub(super) async fn dismiss(&mut self, handle: &'static str) {
        if let Some(live) = self.players.remove(handle).and_then(|player| player.live) {
            live.close().await;
        }
    }

    /// Adds an entry to the allowlist of an existing agent.
    pub(super) async fn admits(&mut self, handle: &str, entry: &str) -> anyhow::Result<()> {
        let mut agent = CreateAgent::new(handle.parse()?);
        agent.allowlist = vec![entry.parse::<AllowEntry>()?];
        self.home.operator.create_agent(&agent).await.with_context(|| format!("registering {handle}"))?;
        self.action(handle, "admits", entry)
    }

    /// Opens the event stream of an agent.
    pub(super) async fn connect(&mut self, handle: &'static str) -> anyhow::Result<()> {
        let player = self.player(handle)?;
        let mut live = player.client.live(LiveOptions::default());
        match timeout(STEP, live.next()).await.context("the connection took too long")?? {
            Signal::Opened => {}
            other @ (Signal::Event(_) | Signal::Keepalive | Signal::Unreadable(_) | Signal::Lost { .. }) => {
                bail!("{handle} could not connect: {other:?}")
            }
        }
        player.live = Some(live);
        self.action(handle, "connects", "WebSocket /connect")
    }

    /// Drops an agent's event stream without a close, as a crashed host would.
    pub(super) fn drop_connection(&mut self, handle: &'static str) -> anyhow::Result<()> {
        self.player(handle)?.live = None;
        self.action(handle, "loses", "its connection")
    }

    /// Sends a request and checks the status; returns the body of the reply.
    pub(super) async fn request(
        &mut self,
        handle: &'static str,
        method: Method,
        path: &str,
        body: Option<Value>,
        status: u16,
    ) -> anyhow::Result<Value> {
        self.requests += 1;
        let sent = body.as_ref().map(Value::to_string).unwrap_or_default();
        let Voice { out, .. } = self.voice;
        let line = story::request(method.as_str(), path, body.as_ref());
        self.pause(line.as_ref()).await?;
        self.exchange(
            handle,
            &json!({"agent": handle, "request": {"method": method.as_str(), "path": path, "body": body}}),
            &format!("{handle} {} {method} {path} {sent}", out.paint(Style::Green, "→")),
            line,
        )?;
        let client = self.player(handle)?.client.clone();
        let bytes = body.as_ref().map(|body| Bytes::from(body.to_string()));
        let reply =
            timeout(STEP, client.raw(method, path, bytes)).await.context("the request took too long")??;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let value = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
        self.exchange(
            handle,
            &json!({"agent": handle, "reply": {"status": reply.status, "body": value}}),
            &format!("{handle} {} {} {text}", out.paint(Style::Green, "←"), reply.status),
            story::reply(reply.status, &value),
        )?;
        ensure!(reply.status == status, "expected status {status}, got {}: {text}", reply.status);
        Ok(value)
    }

    /// Waits for the next event of an agent, and checks that its members and those of its payload contain `expected`.
    /// Returns all of them together.
    pub(super) async fn event(&mut self, handle: &'static str, expected: Value) -> anyhow::Result<Value> {
        self.events += 1;
        let event = self.next(handle).await.with_context(|| format!("{handle} should get {expected}"))?;
        let value: Value = serde_json::from_str(event.json())?;
        let raw = format!("{handle} {} {}", self.voice.out.paint(Style::Yellow, "⇐"), event.json());
        let machine = json!({"agent": handle, "event": value});
        self.exchange(handle, &machine, &raw, story::event(handle, &value))?;
        let mut members = value.as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(payload)) = members.remove("payload") {
            members.extend(payload);
        }
        let value = Value::Object(members);
        for (member, expected) in expected.as_object().into_iter().flatten() {
            ensure!(
                value.get(member) == Some(expected),
                "{handle}: `{member}` should be {expected}, got {value}"
            );
        }
        Ok(value)
    }

    async fn next(&mut self, handle: &'static str) -> anyhow::Result<Box<Event>> {
        let live = self.player(handle)?.live.as_mut().context("not connected")?;
        match timeout(STEP, live.next()).await.context("nothing came")?? {
            Signal::Event(event) => Ok(event),
            other @ (Signal::Opened | Signal::Keepalive | Signal::Unreadable(_) | Signal::Lost { .. }) => {
                bail!("something else came: {other:?}")
            }
        }
    }

    fn player(&mut self, handle: &'static str) -> anyhow::Result<&mut Player> {
        self.players.get_mut(handle).with_context(|| format!("{handle} is not on the stage"))
    }

    /// Prints the tokens of all players, for experiments.
    pub(super) fn show_tokens(&self) -> anyhow::Result<()> {
        let out = self.voice.out;
        for (handle, Player { token, .. }) in &self.players {
            let machine = || json!({"agent": handle, "token": token}).to_string();
            out.line(&if out.is_json() { machine() } else { format!("{handle}  {token}") })?;
        }
        Ok(())
    }

    /// Disconnects everyone.
    pub(super) async fn leave(self) {
        for live in self.players.into_values().filter_map(|player| player.live) {
            live.close().await;
        }
    }
}
