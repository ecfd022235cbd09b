//! P8: an agent in very many sessions comes back to news in some of them. The server was down between, so that
//! nothing is in its memory, and so that the agent's going makes no news of its own.
//! Must not know: one session with much news.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use anyhow::{Result, ensure};

use super::growth::{CONFIRMED, Grown};
use crate::{
    bench::Bench,
    load::{Readers, Watch, between, bulk, one, request},
    report::{Goal, Row, Series, Unit},
    world::{creation, member, sending},
};

/// Events of others between, for the figure that looks whether they matter: more than a server looks through.
const BETWEEN: usize = 20_000;

/// First and last event, in milliseconds.
#[derive(Debug, Default)]
struct Returns {
    first: Series,
    all: Series,
}

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let (count, news) = (bench.sizes.sessions, bench.sizes.news);
    let small = Grown::build(bench, news).await?;
    let large = Grown::build(bench, count).await?;
    bench.grown = Some(large.clone());
    let [mut few, mut many, mut far] = [Returns::default(), Returns::default(), Returns::default()];
    for _ in 0..bench.sizes.rounds {
        few.take(bench, &small, news, 0).await?;
        many.take(bench, &large, news, 0).await?;
        far.take(bench, &large, news, BETWEEN).await?;
    }
    let mut inbox = Series::default();
    for _ in 0..bench.sizes.rounds {
        inbox.0.push(first_inbox(bench, &large, news).await?);
    }
    let row = |what: String, figure, limit: &Series, goal| Row {
        id: "P8",
        what,
        unit: Unit::Millis,
        figure,
        limit: Some((format!("the server, agent in {news} sessions"), limit.clone())),
        goal,
        note: String::new(),
    };
    let what = format!("reconnect of an agent in {count} sessions with news in {news}");
    let also = format!("the same behind {BETWEEN} events of others");
    Ok(vec![
        row(format!("{what}: first event"), many.first, &few.first, Goal::AtMost(30.0)),
        row("the same, all events".to_owned(), many.all, &few.all, Goal::AtMost(150.0)),
        row(format!("{also}: first event"), far.first, &few.first, Goal::AtMost(30.0)),
        row("that, all events".to_owned(), far.all, &few.all, Goal::AtMost(150.0)),
        Row {
            id: "P8",
            what: format!("first `GET /inbox` of that agent after a start, with news in {news}"),
            unit: Unit::Millis,
            figure: inbox,
            limit: None,
            goal: Goal::AtMost(100.0),
            note: String::new(),
        },
    ])
}

/// How long the first inbox takes after a start, in milliseconds: nothing of the agent is in memory.
async fn first_inbox(bench: &Bench, grown: &Grown, news: usize) -> Result<f64> {
    let server = grown.server(bench)?;
    let step = grown.sessions.len() / news;
    let of_news = grown.clone();
    bulk(server.address(), (0..news).map(move |nth| of_news.news(nth * step))).await?;
    server.stop().await?;
    let server = grown.server(bench)?;
    let begin = Instant::now();
    let inbox = one(server.address(), &request("GET", "/inbox", &grown.hub.token, b"")).await?;
    let took = begin.elapsed().as_secs_f64() * 1e3;
    ensure!(!inbox.is_empty(), "the inbox is empty");
    server.stop().await?;
    Ok(took)
}

impl Returns {
    /// One return: news while the agent is away, then all of it and nothing else.
    async fn take(&mut self, bench: &Bench, grown: &Grown, news: usize, between_them: usize) -> Result<()> {
        let server = grown.server(bench)?;
        let at = server.address();
        let step = grown.sessions.len() / news;
        let of_news = grown.clone();
        bulk(at, (0..news).map(move |nth| of_news.news(nth * step))).await?;
        if between_them > 0 {
            let created = one(at, &creation(&grown.others[0], &grown.others[1..2])).await?;
            let request = sending(&member(&created, "session_id")?, &grown.others[0]);
            bulk(at, (0..between_them).map(move |_| request.clone())).await?;
        }
        let mut readers = Readers::default();
        let watch = Watch { order: false, buffer: 64 << 10 };
        let begin = readers.upgrade(at, "/connect", &grown.hub.token, watch).await?;
        let expected = news as u64;
        readers.until("news arrives", |seen| seen[0].messages.load(Relaxed) >= expected).await?;
        let seen = readers.seen[0].clone();
        self.first.0.push(between(begin, seen.first_ns.load(Relaxed)).as_secs_f64() * 1e3);
        self.all.0.push(between(begin, seen.last_ns.load(Relaxed)).as_secs_f64() * 1e3);
        readers.quiet(CONFIRMED).await?;
        let all = seen.all.load(Relaxed);
        ensure!(all == expected, "{all} events came instead of {expected}");
        server.stop().await
    }
}
