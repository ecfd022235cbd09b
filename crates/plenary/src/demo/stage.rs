//! The players of the demonstration: what they send and get is printed and checked.
//! Must not know: the play.

mod frames;
mod mcp;
mod runs;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::Method;
use plenary_client::{
    BaseUrl, Client, Event, Token,
    live::{Live, LiveOptions, Signal},
};
use plenary_kernel::AllowEntry;
use plenary_wire::accounts::{AGENT_CREATE, NewAgent, OWNER_ROTATE_TOKEN, Policy};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::out::{Out, Style};
use frames::Listener;
pub(super) use frames::sovereign;

/// How long a step may take.
const STEP: Duration = Duration::from_secs(10);

struct Player {
    client: Client,
    token: String,
    live: Option<Live>,
}

/// Where the demonstration is played.
pub(super) struct Stage {
    base: Client,
    operator: Client,
    players: BTreeMap<&'static str, Player>,
    listeners: BTreeMap<&'static str, Listener>,
    out: Out,
    requests: usize,
    events: usize,
}

impl Stage {
    pub(super) fn new(url: &str, operator: &str, out: Out) -> anyhow::Result<Self> {
        let base = Client::new(url.parse::<BaseUrl>()?)?;
        let operator = base.with_token(Token::new(operator)?);
        Ok(Self {
            base,
            operator,
            players: BTreeMap::new(),
            listeners: BTreeMap::new(),
            out,
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

    /// A remark between steps.
    pub(super) fn note(&self, text: &str) -> anyhow::Result<()> {
        if self.out.is_json() {
            return self.line(&json!({"note": text}), "");
        }
        self.out.line("")?;
        Ok(self.out.line(&self.out.paint(Style::Bold, text))?)
    }

    fn line(&self, machine: &Value, person: &str) -> anyhow::Result<()> {
        line(self.out, machine, person)
    }

    /// Registers an agent and connects it.
    pub(super) async fn enter(
        &mut self,
        handle: &'static str,
        policy: Policy,
        allowlist: &[&str],
    ) -> anyhow::Result<()> {
        let mut agent = NewAgent::new(handle.parse()?);
        agent.policy = Some(policy);
        agent.allowlist =
            allowlist.iter().map(|entry| entry.parse::<AllowEntry>()).collect::<Result<_, _>>()?;
        let created = self
            .operator
            .call(&AGENT_CREATE, &[], &(), &agent)
            .await
            .with_context(|| format!("registering {handle}"))?;
        let token = created.value.token.clone();
        let client = self.base.with_token(Token::new(token.clone())?);
        self.players.insert(handle, Player { client, token, live: None });
        self.connect(handle).await
    }

    /// Lets a person come in: an owner, with a token of its own. It makes requests and has no event stream.
    pub(super) async fn admit(&mut self, owner: &'static str) -> anyhow::Result<()> {
        let created = self.operator.call(&OWNER_ROTATE_TOKEN, &[&owner], &(), &()).await;
        let token = created.with_context(|| format!("a token of {owner}"))?.value.token;
        let client = self.base.with_token(Token::new(token.clone())?);
        self.players.insert(owner, Player { client, token, live: None });
        say(self.out, owner, "comes in", "as a person")
    }

    /// Puts somebody on the list of an agent that is there already.
    pub(super) async fn admits(&mut self, handle: &str, entry: &str) -> anyhow::Result<()> {
        let mut agent = NewAgent::new(handle.parse()?);
        agent.allowlist = vec![entry.parse::<AllowEntry>()?];
        self.operator
            .call(&AGENT_CREATE, &[], &(), &agent)
            .await
            .with_context(|| format!("registering {handle}"))?;
        say(self.out, handle, "admits", entry)
    }

    /// Opens the event stream of an agent.
    pub(super) async fn connect(&mut self, handle: &'static str) -> anyhow::Result<()> {
        let out = self.out;
        let player = self.player(handle)?;
        let mut live = player.client.live(LiveOptions::default());
        match timeout(STEP, live.next()).await.context("the connection took too long")?? {
            Signal::Connected => {}
            other @ (Signal::Event(_) | Signal::Unreadable(_) | Signal::Lost { .. }) => {
                bail!("{handle} could not connect: {other:?}")
            }
        }
        player.live = Some(live);
        say(out, handle, "connects", "WebSocket /connect")
    }

    /// Drops the event stream of an agent without a word, as a crashed host would.
    pub(super) fn drop_connection(&mut self, handle: &'static str) -> anyhow::Result<()> {
        let out = self.out;
        self.player(handle)?.live = None;
        say(out, handle, "drops", "its connection")
    }

    /// Sends a request and checks the status; the body that came back.
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
        self.line(
            &json!({"agent": handle, "request": {"method": method.as_str(), "path": path, "body": body}}),
            &format!("{handle} {} {method} {path} {sent}", self.out.paint(Style::Green, "→")),
        )?;
        let client = self.player(handle)?.client.clone();
        let bytes = body.as_ref().map(|body| Bytes::from(body.to_string()));
        let reply =
            timeout(STEP, client.raw(method, path, bytes)).await.context("the request took too long")??;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let value = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
        self.line(
            &json!({"agent": handle, "reply": {"status": reply.status, "body": value}}),
            &format!("{handle} {} {} {text}", self.out.paint(Style::Green, "←"), reply.status),
        )?;
        ensure!(reply.status == status, "expected status {status}, got {}: {text}", reply.status);
        Ok(value)
    }

    /// Waits for the next event of an agent and checks its members and those of its payload: `expected` must be
    /// part of them. All of them together come back.
    pub(super) async fn event(&mut self, handle: &'static str, expected: Value) -> anyhow::Result<Value> {
        self.events += 1;
        let event = self.next(handle).await.with_context(|| format!("{handle} should get {expected}"))?;
        let value: Value = serde_json::from_str(event.json())?;
        self.line(
            &json!({"agent": handle, "event": value}),
            &format!("{handle} {} {}", self.out.paint(Style::Yellow, "⇐"), event.json()),
        )?;
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
            other @ (Signal::Connected | Signal::Unreadable(_) | Signal::Lost { .. }) => {
                bail!("something else came: {other:?}")
            }
        }
    }

    fn player(&mut self, handle: &'static str) -> anyhow::Result<&mut Player> {
        self.players.get_mut(handle).with_context(|| format!("{handle} is not on the stage"))
    }

    /// The tokens of everyone, to try things with.
    pub(super) fn show_tokens(&self) -> anyhow::Result<()> {
        self.players.iter().try_for_each(|(handle, player)| {
            self.line(
                &json!({"agent": handle, "token": player.token}),
                &format!("{handle}  {}", player.token),
            )
        })
    }

    /// Everyone leaves.
    pub(super) async fn leave(self) {
        for live in self.players.into_values().filter_map(|player| player.live) {
            live.close().await;
        }
    }
}

fn say(out: Out, handle: &str, verb: &str, what: &str) -> anyhow::Result<()> {
    line(out, &json!({"agent": handle, "does": verb, "what": what}), &format!("{handle} {verb} {what}"))
}

fn line(out: Out, machine: &Value, person: &str) -> anyhow::Result<()> {
    if out.is_json() {
        out.line(&machine.to_string())?;
    } else {
        out.line(person)?;
    }
    Ok(())
}
