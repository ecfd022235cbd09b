//! P7: an agent that comes back to one session in which it has missed very much.
//! Must not know: agents in many sessions.

use std::{cell::Cell, sync::atomic::Ordering::Relaxed};

use anyhow::{Context as _, Result};

use crate::{
    bench::Bench,
    load::{Framing, PAYLOAD_BYTES, Readers, Watch, between, bulk, now_ns},
    process::Listening,
    report::{Goal, Row, Series, Unit},
    world::{Agent, agents, sending, session},
};

/// Agents that fill the session.
const PUBLISHERS: usize = 64;
/// A reader of this much at once.
const READER: Watch = Watch { order: true, buffer: 256 << 10 };
/// How much more memory the server may take while it replays: what its page caches and buffers are allowed.
const FLAT_MIB: f64 = 32.0;

/// What one replay was like.
#[derive(Debug, Default)]
struct Replays {
    rate: Series,
    first_ms: Series,
    grown_mib: Series,
}

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let missed = bench.sizes.missed;
    let data = bench.fresh();
    let (rows, bytes) = (missed.to_string(), PAYLOAD_BYTES.to_string());
    let data = data.to_str().context("a path in UTF-8")?;
    let limit = bench.limit(&["replay", "--data", data, "--rows", &rows, "--bytes", &bytes])?;
    let server = bench.server()?;
    // Each reader comes once: what it has confirmed does not come again.
    let readers = agents(server.address(), "late", 2 * bench.sizes.rounds).await?;
    let publishers = agents(server.address(), "busy", PUBLISHERS).await?;
    let everyone = [&publishers[..], &readers[..]].concat();
    let last = fill(&server, &everyone, missed).await?;

    let mut bare = Series::default();
    let (mut both, mut flat) = (Replays::default(), Replays::default());
    for pair in readers.chunks_exact(2) {
        bare.0.push(bare_replay(&limit, missed).await?);
        both.take(&server, &pair[0], "/connect", last).await?;
        flat.take(&server, &pair[1], "/connect?events=flat", last).await?;
    }
    let row = |what: String, unit, figure, limit: Option<&Series>, goal| Row {
        id: "P7",
        what,
        unit,
        figure,
        limit: limit.map(|series| ("rows of a table to a socket".to_owned(), series.clone())),
        goal,
        note: String::new(),
    };
    let what = format!("reconnect after missing {missed} events in one session");
    Ok(vec![
        row(
            format!("{what}: events to the socket"),
            Unit::PerSecond,
            both.rate,
            Some(&bare),
            Goal::AtLeast(1e6),
        ),
        row("the same, first event".to_owned(), Unit::Millis, both.first_ms, None, Goal::AtMost(20.0)),
        row(
            "the same, memory that the server takes on".to_owned(),
            Unit::Mib,
            both.grown_mib,
            None,
            Goal::AtMost(FLAT_MIB),
        ),
        row("the same with `?events=flat`".to_owned(), Unit::PerSecond, flat.rate, Some(&bare), Goal::None),
    ])
}

/// Puts everyone into one session and lets the publishers fill it. Gives the number of the last event.
async fn fill(server: &Listening, everyone: &[Agent], messages: u64) -> Result<u64> {
    let id = session(server.address(), everyone).await?;
    let requests: Vec<_> = everyone[..PUBLISHERS].iter().map(|agent| sending(&id, agent)).collect();
    let mut turn = requests.into_iter().cycle();
    let sends = (0..messages).map_while(move |_| turn.next());
    bulk(server.address(), sends).await?;
    let others = everyone.len() as u64 - 1;
    Ok(messages + 2 * others)
}

async fn bare_replay(limit: &Listening, rows: u64) -> Result<f64> {
    let mut readers = Readers::default();
    let begin = now_ns();
    let watch = Watch { order: false, ..READER };
    readers.connect(limit.address(), Framing::Fixed(PAYLOAD_BYTES), watch).await?;
    readers.until("rows arrive", |seen| seen[0].messages.load(Relaxed) >= rows).await?;
    Ok(rows as f64 / between(begin, readers.last_ns()).as_secs_f64())
}

impl Replays {
    async fn take(&mut self, server: &Listening, agent: &Agent, path: &str, last: u64) -> Result<()> {
        let before = server.resident_kib()?;
        let most = Cell::new(before);
        let mut readers = Readers::default();
        let begin = readers.upgrade(server.address(), path, &agent.token, READER).await?;
        let caught_up = |seen: &[std::sync::Arc<crate::load::Seen>]| {
            most.set(most.get().max(server.resident_kib().unwrap_or(0)));
            seen[0].sequence.load(Relaxed) >= last
        };
        readers.until("what was missed arrives", caught_up).await?;
        let seen = &readers.seen[0];
        let seconds = between(begin, seen.last_ns.load(Relaxed)).as_secs_f64();
        self.rate.0.push(seen.all.load(Relaxed) as f64 / seconds);
        self.first_ms.0.push(between(begin, seen.first_ns.load(Relaxed)).as_secs_f64() * 1e3);
        self.grown_mib.0.push((most.get() - before) as f64 / 1024.0);
        Ok(())
    }
}
