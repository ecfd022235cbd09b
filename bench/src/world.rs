//! Agents and sessions on a server under test, made over its own API; and what publishes and reads there.
//! Must not know: which figure they are for.

use std::{
    net::SocketAddr,
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::net::TcpStream;

use crate::{
    load::{
        Publisher, Readers, Seen, Sent, Watch, bulk, closed_loop, frame_body, message_body, one, request,
        stall,
    },
    process::OPERATOR,
};

/// Most agents of one invitation.
const INVITE_MAX: usize = 50;
/// What a reader of one session looks at.
pub(crate) const READER: Watch = Watch { order: true, buffer: 16 << 10 };

/// Agents that share the subscriptions of one handle.
const SUBSCRIBING_AGENTS: usize = 10;
/// The stream of the owner whose agents all of them are.
const STREAM: &str = "/handles/~bench/stream";

/// Where much comes at once.
const WIDE_READER: Watch = Watch { order: true, buffer: 64 << 10 };

/// An agent with its token.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) handle: String,
    pub(crate) token: String,
}

/// Makes agents `@bench.<name><n>` that anybody may write to.
pub(crate) async fn agents(server: SocketAddr, name: &'static str, count: usize) -> Result<Vec<Agent>> {
    let handle = move |nth: usize| format!("@bench.{name}{nth}");
    let created = bulk(
        server,
        (0..count).map(move |nth| {
            let body = format!(r#"{{"handle":"{}","policy":"open"}}"#, handle(nth));
            request("POST", "/_admin/agents", OPERATOR, body.as_bytes())
        }),
    );
    let token =
        |(nth, body): (usize, Vec<u8>)| Ok(Agent { handle: handle(nth), token: member(&body, "token")? });
    created.await?.into_iter().enumerate().map(token).collect()
}

/// A member of a reply.
pub(crate) fn member(body: &[u8], name: &str) -> Result<String> {
    let value: serde_json::Value = serde_json::from_slice(body)?;
    let text = value.get(name).and_then(|value| value.as_str());
    text.map(str::to_owned).with_context(|| format!("no {name} in {}", String::from_utf8_lossy(body)))
}

/// The request that creates a session with these agents invited.
pub(crate) fn creation(creator: &Agent, invited: &[Agent]) -> Vec<u8> {
    let named: Vec<_> = invited.iter().map(|agent| format!("\"{}\"", agent.handle)).collect();
    request("POST", "/sessions", &creator.token, format!(r#"{{"invite":[{}]}}"#, named.join(",")).as_bytes())
}

/// The request with which an invited agent joins.
pub(crate) fn joining(session: &str, agent: &Agent) -> Vec<u8> {
    request("POST", &format!("/sessions/{session}/join"), &agent.token, b"")
}

/// The request that sends a message.
pub(crate) fn sending(session: &str, agent: &Agent) -> Vec<u8> {
    request("POST", &format!("/sessions/{session}/messages"), &agent.token, &message_body())
}

/// One session of all these agents; the first creates it.
pub(crate) async fn session(server: SocketAddr, agents: &[Agent]) -> Result<String> {
    let creator = agents.first().context("somebody creates the session")?;
    let rest: Vec<_> = agents[1..].chunks(INVITE_MAX).collect();
    let (first, more) = match rest.split_first() {
        Some((first, more)) => (*first, more),
        None => (&[][..], &[][..]),
    };
    let id = member(&one(server, &creation(creator, first)).await?, "session_id")?;
    for some in more {
        let named: Vec<_> = some.iter().map(|agent| format!("\"{}\"", agent.handle)).collect();
        let body = format!(r#"{{"invite":[{}]}}"#, named.join(","));
        let path = format!("/sessions/{id}/invite");
        one(server, &request("POST", &path, &creator.token, body.as_bytes())).await?;
    }
    let joins: Vec<_> = agents[1..].iter().map(|agent| joining(&id, agent)).collect();
    bulk(server, joins.into_iter()).await?;
    Ok(id)
}

/// Publishers, the readers of their messages, and the readers of each publisher.
#[derive(Debug, Default)]
pub(crate) struct World {
    publishers: Vec<Publisher>,
    /// What the first publisher sends.
    pub(crate) request: Vec<u8>,
    pub(crate) readers: Readers,
    /// For each reader: whose messages it gets.
    sources: Vec<Range<usize>>,
    /// Who has subscribers that never read.
    stalling: Option<Agent>,
}

impl World {
    /// Sessions of three participants each: one publishes, one is connected, one is not. Publisher and reader of a
    /// session are on different servers where there are several.
    pub(crate) async fn sessions(servers: &[SocketAddr], name: &'static str, count: usize) -> Result<Self> {
        let agents = agents(servers[0], name, 3 * count).await?;
        let crews: Vec<&[Agent]> = agents.chunks_exact(3).collect();
        let creations: Vec<_> = crews.iter().map(|crew| creation(&crew[0], &crew[1..])).collect();
        let created = bulk(servers[0], creations.into_iter()).await?;
        let ids: Vec<_> = created.iter().map(|body| member(body, "session_id")).collect::<Result<_>>()?;
        let of_crew = |(id, crew): (&String, &&[Agent])| [joining(id, &crew[1]), joining(id, &crew[2])];
        let joins: Vec<_> = ids.iter().zip(&crews).flat_map(of_crew).collect();
        bulk(servers[0], joins.into_iter()).await?;
        let mut world = Self::default();
        for (nth, (id, crew)) in ids.iter().zip(&crews).enumerate() {
            let publishing = servers[nth % servers.len()];
            let reading = servers[(nth + 1) % servers.len()];
            world.readers.upgrade(reading, "/connect", &crew[1].token, READER).await?;
            world.sources.push(nth..nth + 1);
            world.publishers.push(Publisher::open(publishing, sending(id, &crew[0])).await?);
        }
        world.readers.quiet(QUIET).await?;
        Ok(world)
    }

    /// One session with this many publishers, which are not connected, and this many connected readers.
    pub(crate) async fn one_session(server: SocketAddr, publishers: usize, readers: usize) -> Result<Self> {
        let agents = agents(server, "hot", publishers + readers).await?;
        let id = session(server, &agents).await?;
        let mut world = Self::default();
        for agent in &agents[publishers..] {
            world.readers.upgrade(server, "/connect", &agent.token, READER).await?;
            world.sources.push(0..publishers);
        }
        world.request = sending(&id, &agents[0]);
        for agent in &agents[..publishers] {
            world.publishers.push(Publisher::open(server, sending(&id, agent)).await?);
        }
        world.readers.quiet(QUIET).await?;
        Ok(world)
    }

    /// One session in which all participants are connected, and the first of them publish as well.
    pub(crate) async fn wide(server: SocketAddr, participants: usize, publishers: usize) -> Result<Self> {
        let agents = agents(server, "wide", participants).await?;
        let id = session(server, &agents).await?;
        let mut world = Self::default();
        for agent in &agents {
            world.readers.upgrade(server, "/connect", &agent.token, WIDE_READER).await?;
            world.sources.push(0..publishers);
        }
        world.request = sending(&id, &agents[0]);
        for agent in &agents[..publishers] {
            world.publishers.push(Publisher::open(server, sending(&id, agent)).await?);
        }
        world.readers.quiet(QUIET).await?;
        Ok(world)
    }

    /// Subscribers of one handle, and publishers that send frames to it. All agents are of one owner.
    pub(crate) async fn frames(server: SocketAddr, subscribers: usize, publishers: usize) -> Result<Self> {
        let listening = agents(server, "listening", SUBSCRIBING_AGENTS).await?;
        let speaking = agents(server, "speaking", publishers).await?;
        let mut world = Self::default();
        for nth in 0..subscribers {
            let token = &listening[nth % listening.len()].token;
            world.readers.subscribe(server, STREAM, token, WIDE_READER).await?;
            world.sources.push(0..publishers);
        }
        let frame = |agent: &Agent| request("POST", "/frames", &agent.token, &frame_body("~bench"));
        world.request = frame(&speaking[0]);
        for agent in &speaking {
            world.publishers.push(Publisher::open(server, frame(agent)).await?);
        }
        world.stalling = listening.first().cloned();
        world.readers.quiet(QUIET).await?;
        Ok(world)
    }

    /// One more subscriber, which never reads.
    pub(crate) async fn stall(&self, server: SocketAddr) -> Result<TcpStream> {
        let agent = self.stalling.as_ref().context("a world of frames")?;
        stall(server, STREAM, &agent.token).await
    }

    /// Publishers without readers, on a bare limit.
    pub(crate) async fn bare(limit: SocketAddr, publishers: usize) -> Result<Self> {
        let mut world = Self::default();
        let unregistered = Agent { handle: String::new(), token: "0".repeat(68) };
        for _ in 0..publishers {
            let request = sending("sess_00000000000000000000000000", &unregistered);
            world.publishers.push(Publisher::open(limit, request).await?);
        }
        Ok(world)
    }

    /// Publishers without readers, one for each request.
    pub(crate) async fn sending(server: SocketAddr, requests: impl Iterator<Item = Vec<u8>>) -> Result<Self> {
        let mut world = Self::default();
        for request in requests {
            world.publishers.push(Publisher::open(server, request).await?);
        }
        Ok(world)
    }

    /// Sends in a closed loop, and sees to it that every message reaches everyone it is for.
    pub(crate) async fn run(&mut self, active: usize, warm: Duration, window: Duration) -> Result<Sent> {
        let count = |readers: &Readers| -> Vec<u64> {
            readers.seen.iter().map(|seen| seen.messages.load(Relaxed)).collect()
        };
        let before = count(&self.readers);
        let sent = closed_loop(&mut self.publishers, active, warm, window).await?;
        let expected: Vec<u64> = before
            .iter()
            .zip(&self.sources)
            .map(|(before, sources)| before + sent.acknowledged[sources.clone()].iter().sum::<u64>())
            .collect();
        let arrived = |seen: &[Arc<Seen>]| {
            seen.iter().zip(&expected).all(|(seen, expected)| seen.messages.load(Relaxed) >= *expected)
        };
        self.readers.until("acknowledged messages reach their readers", arrived).await?;
        ensure!(count(&self.readers) == expected, "readers got messages that nobody sent");
        Ok(sent)
    }
}

/// Nothing comes for so long: everyone has caught up.
pub(crate) const QUIET: Duration = Duration::from_millis(400);
