//! The store with many sessions that two figures share, and P10: what sending costs in a log that has grown.
//! Must not know: how the one agent of them all comes back.

use std::path::PathBuf;

use anyhow::Result;

use super::{
    context,
    send::{PUBLISHERS, Turns},
};
use crate::{
    bench::Bench,
    console,
    load::{Readers, Watch, bulk},
    process::{Listening, Store},
    report::{Goal, Row, Series, Unit},
    world::{Agent, World, agents, creation, joining, member, sending},
};

/// Agents that the one agent shares its sessions with.
const OTHERS: usize = 64;
/// Requests of one bulk, so that their replies are not all kept.
const BULK: usize = 100_000;
/// Far from any number of sessions in step, so that neighbours in time are not neighbours in the log.
const STRIDE: usize = 7_919;
/// Messages in a row to one session, as in a conversation.
const BURST: usize = 16;
/// Nothing for so long, and a reader has confirmed what it has.
pub(super) const CONFIRMED: std::time::Duration = std::time::Duration::from_millis(1_200);

/// A store in which one agent is joined in many sessions.
#[derive(Debug, Clone)]
pub(crate) struct Grown {
    pub(super) store: PathBuf,
    /// In every session, and caught up when the server last went down.
    pub(super) hub: Agent,
    /// One of them is the other side of each session.
    pub(super) others: Vec<Agent>,
    pub(super) sessions: Vec<String>,
    /// How many events the log has, about.
    events: u64,
}

impl Grown {
    /// Builds one over the server's own API.
    pub(super) async fn build(bench: &mut Bench, count: usize) -> Result<Self> {
        let store = bench.fresh();
        let server = bench.server_on(&Store::Directory(store.clone()))?;
        let at = server.address();
        let hub = agents(at, "hub", 1).await?.remove(0);
        let others = agents(at, "other", OTHERS).await?;
        let mut sessions = Vec::with_capacity(count);
        while sessions.len() < count {
            let some = sessions.len()..count.min(sessions.len() + BULK);
            let (creators, invited) = (others.clone(), [hub.clone()]);
            let created = bulk(at, some.map(move |nth| creation(&creators[nth % OTHERS], &invited))).await?;
            let ids: Vec<_> = created.iter().map(|body| member(body, "session_id")).collect::<Result<_>>()?;
            let (joined, joiner) = (ids.clone(), hub.clone());
            bulk(at, (0..joined.len()).map(move |nth| joining(&joined[nth], &joiner))).await?;
            sessions.extend(ids);
        }
        let mut reader = Readers::default();
        reader.upgrade(at, "/connect", &hub.token, Watch { order: false, buffer: 64 << 10 }).await?;
        reader.quiet(CONFIRMED).await?;
        server.stop().await?;
        let events = 3 * count as u64;
        Ok(Self { store, hub, others, sessions, events })
    }

    pub(super) fn server(&self, bench: &Bench) -> Result<Listening> {
        bench.server_on(&Store::Directory(self.store.clone()))
    }

    /// The request with which the other side of a session sends there.
    pub(super) fn news(&self, nth: usize) -> Vec<u8> {
        let nth = nth % self.sessions.len();
        sending(&self.sessions[nth], &self.others[nth % OTHERS])
    }

    /// Sends messages to all sessions until the log has this many events.
    async fn grow(&mut self, server: &Listening, events: u64) -> Result<()> {
        let missing = usize::try_from(events.saturating_sub(self.events))?;
        let mut sent = 0;
        while sent < missing {
            let some = sent..missing.min(sent + BULK);
            sent = some.end;
            let me = self.clone();
            bulk(server.address(), some.map(move |nth| me.news(nth / BURST * STRIDE))).await?;
        }
        self.events = self.events.max(events);
        Ok(())
    }
}

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let (events, count) = (bench.sizes.grown, bench.sizes.sessions);
    let mut grown = match bench.grown.take() {
        Some(grown) => grown,
        None => Grown::build(bench, count).await?,
    };
    let mut big = grown.server(bench)?;
    console::print_line(&format!("    growing the log to {events} events"));
    grown.grow(&big, events).await?;
    let empty = bench.server()?;
    let mut few = World::sessions(&[empty.address()], "s", PUBLISHERS).await?;
    let (mut turns, mut starts) = (Turns::default(), Series::default());
    // The agents of each turn are new to the store.
    for name in ["ga", "gb", "gc", "gd", "ge"].into_iter().take(bench.sizes.rounds) {
        let mut many = World::sessions(&[big.address()], name, PUBLISHERS).await?;
        // What the bulk left to index is not a cost of the log's size.
        context::everything_indexed(big.address()).await?;
        turns.take(bench, &mut few, &mut many, PUBLISHERS).await?;
        big.kill()?;
        big = grown.server(bench)?;
        starts.0.push(big.started_in.as_secs_f64() * 1e3);
    }
    let what = format!("P1 with {events} events in {count} sessions, against an empty store");
    let mut send = turns.row("P10", what, "the server, empty", 0.90);
    send.note = send.note.replace("bare", "empty");
    let start = Row {
        id: "P10",
        what: "start after `kill -9` on that store".to_owned(),
        unit: Unit::Millis,
        figure: starts,
        limit: None,
        goal: Goal::AtMost(2_000.0),
        note: String::new(),
    };
    big.kill()?;
    let mut rows = vec![send, start];
    rows.extend(super::first::measure(bench, &grown).await?);
    Ok(rows)
}
