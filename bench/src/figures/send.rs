//! P1 to P3: how many messages a second are acknowledged, and so on disk. P19: what the index of everything costs them.
//! Must not know: how long one takes.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    bench::Bench,
    load::{one, request},
    process::OPERATOR,
    report::{Goal, Row, Series, Unit},
    world::World,
};

/// Publishers of the loaded figures, and sessions of P1.
pub(super) const PUBLISHERS: usize = 64;
/// Connected readers of the hot session.
const HOT_READERS: usize = 5;

/// How long the index may lag after a round.
const INDEXED_WITHIN: Duration = Duration::from_secs(120);

/// Limit and subject in turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) limit: Series,
    pub(super) subject: Series,
    /// Acknowledged messages to a flush of the disk, of both.
    per_flush: (Series, Series),
}

impl Turns {
    /// One turn of each.
    pub(super) async fn take(
        &mut self,
        bench: &Bench,
        limit: &mut World,
        subject: &mut World,
        active: usize,
    ) -> Result<()> {
        for (world, series, per_flush) in [
            (limit, &mut self.limit, &mut self.per_flush.0),
            (subject, &mut self.subject, &mut self.per_flush.1),
        ] {
            let run = world.run(active, bench.sizes.warm, bench.sizes.window);
            let (sent, flushes) = bench.flushing(run).await?;
            series.0.push(sent.rate);
            let messages: u64 = sent.acknowledged.iter().sum();
            per_flush.0.extend(flushes.map(|flushes| messages as f64 / flushes as f64));
        }
        Ok(())
    }

    /// What the flush counts say.
    pub(super) fn note(&self) -> String {
        if self.per_flush.1.0.is_empty() {
            return String::new();
        }
        let (limit, subject) = (self.per_flush.0.median(), self.per_flush.1.median());
        format!("messages to a flush of the disk: {subject:.1}, bare {limit:.1}")
    }

    /// The line of the table.
    pub(super) fn row(self, id: &'static str, what: String, limit: &str, goal: f64) -> Row {
        Row {
            id,
            what,
            unit: Unit::PerSecond,
            note: self.note(),
            figure: self.subject,
            limit: Some((limit.to_owned(), self.limit)),
            goal: Goal::RatioAtLeast(goal),
        }
    }
}

/// P1: 64 publishers in 64 sessions.
pub(super) async fn p1(bench: &mut Bench) -> Result<Vec<Row>> {
    let what = "send, 64 publishers in 64 sessions of 3, one of them connected".to_owned();
    Ok(vec![in_sessions(bench, PUBLISHERS).await?.row("P1", what, "sqlwal, 64", 0.70)])
}

/// P2: the same sessions, fewer publishers.
pub(super) async fn p2(bench: &mut Bench) -> Result<Vec<Row>> {
    let one = in_sessions(bench, 1).await?.row("P2", "the same, 1 publisher".to_owned(), "sqlwal, 1", 0.85);
    let eight =
        in_sessions(bench, 8).await?.row("P2", "the same, 8 publishers".to_owned(), "sqlwal, 8", 0.75);
    Ok(vec![one, eight])
}

async fn in_sessions(bench: &mut Bench, active: usize) -> Result<Turns> {
    let (limit, server) = (bench.sqlwal()?, bench.server()?);
    let mut bare = World::bare(limit.address(), active).await?;
    let mut world = World::sessions(&[server.address()], "s", PUBLISHERS).await?;
    turns(bench, &mut bare, &mut world, active).await
}

/// P3: everybody in one session.
pub(super) async fn p3(bench: &mut Bench) -> Result<Vec<Row>> {
    let (limit, server) = (bench.sqlwal()?, bench.server()?);
    let mut bare = World::bare(limit.address(), PUBLISHERS).await?;
    let mut world = World::one_session(server.address(), PUBLISHERS, HOT_READERS).await?;
    let turns = turns(bench, &mut bare, &mut world, PUBLISHERS).await?;
    let what = "send in one hot session, 64 publishers, 5 connected readers".to_owned();
    Ok(vec![turns.row("P3", what, "sqlwal, 64", 0.60)])
}

/// P19: P1 with and without the index of everything, and how long that one takes to have what came.
pub(super) async fn p19(bench: &mut Bench) -> Result<Vec<Row>> {
    let config = bench.scratch().join("no-search.toml");
    std::fs::write(&config, "[search]\neverything = false\n")?;
    let config = config.to_str().context("a path in UTF-8")?.to_owned();
    let (without, server) = (bench.server_with(&["--config", &config])?, bench.server()?);
    let mut plain = World::sessions(&[without.address()], "s", PUBLISHERS).await?;
    let mut world = World::sessions(&[server.address()], "s", PUBLISHERS).await?;
    let (mut turns, mut lag) = (Turns::default(), Series::default());
    for _ in 0..bench.sizes.rounds {
        turns.take(bench, &mut plain, &mut world, PUBLISHERS).await?;
        let begin = Instant::now();
        while !is_indexed(server.address()).await? {
            ensure!(begin.elapsed() < INDEXED_WITHIN, "the index does not catch up");
        }
        lag.0.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let what = "P1 with the index of everything, against without it".to_owned();
    let lag = Row {
        id: "P19",
        what: "until that index has all that was sent in the window".to_owned(),
        unit: Unit::Millis,
        figure: lag,
        limit: None,
        goal: Goal::None,
        note: String::new(),
    };
    Ok(vec![turns.row("P19", what, "the server, without it", 0.85), lag])
}

/// Whether a search finds everything up to now; waits for it a little.
async fn is_indexed(server: SocketAddr) -> Result<bool> {
    let body = one(server, &request("GET", "/search?q=nothing-of-it&limit=1", OPERATOR, b"")).await?;
    Ok(serde_json::from_slice::<serde_json::Value>(&body)?["complete"] == true)
}

async fn turns(bench: &Bench, limit: &mut World, subject: &mut World, active: usize) -> Result<Turns> {
    let mut turns = Turns::default();
    for _ in 0..bench.sizes.rounds {
        turns.take(bench, limit, subject, active).await?;
    }
    Ok(turns)
}
