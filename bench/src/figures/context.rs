//! P12: how many packages a second are deposited. P13: how long it takes to find some among very many.
//! Must not know: how they are found.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{
    percentile,
    send::{PUBLISHERS, Turns},
};
use crate::{
    bench::Bench,
    console,
    load::{Drawn, HttpConnection, between, bulk, depositing, now_ns, one, request},
    process::OPERATOR,
    report::{Goal, Row, Series, Unit},
    world::{World, agents},
};

/// The project of all packages.
const PROJECT: &str = "bench";
/// How often it is looked whether every package is found.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Packages of one bulk.
const BULK: u64 = 20_000;

pub(super) async fn deposits(bench: &mut Bench) -> Result<Vec<Row>> {
    let (limit, server) = (bench.sqlwal()?, bench.server()?);
    let token = author(server.address()).await?;
    let requests = || (0..PUBLISHERS as u64).map(|nth| depositing(PROJECT, nth, &token));
    let mut bare = World::sending(limit.address(), requests()).await?;
    let mut world = World::sending(server.address(), requests()).await?;
    let mut turns = Turns::default();
    for _ in 0..bench.sizes.rounds {
        turns.take(bench, &mut bare, &mut world, PUBLISHERS).await?;
    }
    let lagging = lag(server.address()).await?;
    let waited = found_all(server.address()).await?;
    let what = "deposit of a package of 2 KiB, 64 publishers".to_owned();
    let mut row = turns.row("P12", what, "sqlwal, 64, the same bodies", 0.50);
    row.note +=
        &format!("; {lagging} packages behind when the last was acknowledged, all found {waited:.1} s later");
    Ok(vec![row])
}

pub(super) async fn finding(bench: &mut Bench, count: u64) -> Result<Vec<Row>> {
    let server = bench.server()?;
    let at = server.address();
    let token = author(at).await?;
    let waited = deposit_all(count, at, &token).await?;
    let relevant = |nth| relevant(nth, &token);
    let latest = |_: u64| of("packages?mode=latest", &token);
    let orient = |_: u64| of("orient?window_days=36500", &token);
    let ways: [MeasuredRequest<'_>; 3] = [
        ("mode=relevant, 1 to 6 words", &relevant, 5_000.0, Some(20_000.0)),
        ("mode=latest", &latest, 5_000.0, Some(5_000.0)),
        ("orient", &orient, 5_000.0, Some(5_000.0)),
    ];
    measured((bench, count), at, &ways, waited).await
}

/// The same by words and meaning. The vectors mean nothing, but there are as many as of real ones, and they lie as close
/// together as those of texts on some thousand topics.
pub(super) async fn finding_meaning(bench: &mut Bench, count: u64) -> Result<Vec<Row>> {
    let model = bench.limit(&["embeddings"])?;
    let source = format!("openai:http://{}/v1?model=bench", model.address());
    let server = bench.server_with(&["--embeddings", &source])?;
    let at = server.address();
    let token = author(at).await?;
    let waited = deposit_all(count, at, &token).await?;
    let relevant = |nth| relevant(nth, &token);
    let lexical = |nth| words_alone(nth, &token);
    let ways: [MeasuredRequest<'_>; 2] = [
        ("mode=relevant, hybrid, 8 vectors a package", &relevant, 25_000.0, Some(60_000.0)),
        ("the same with ranking=lexical", &lexical, 25_000.0, Some(60_000.0)),
    ];
    let mut rows = measured((bench, count), at, &ways, waited).await?;
    let memory = Series(vec![server.resident_kib()? as f64 / 1_024.0]);
    let what = format!("memory of that server, with {count} packages");
    let note = String::new();
    rows.push(Row { id: "P13", what, unit: Unit::Mib, figure: memory, limit: None, goal: Goal::None, note });
    Ok(rows)
}

/// The token of the agent whose packages they are.
async fn author(server: SocketAddr) -> Result<String> {
    Ok(agents(server, "author", 1).await?.remove(0).token)
}

fn of(path: &str, token: &str) -> Vec<u8> {
    request("GET", &format!("/v1/projects/{PROJECT}/{path}"), token, b"")
}

fn relevant(nth: u64, token: &str) -> Vec<u8> {
    of(&format!("packages?mode=relevant&query={}", query(nth)), token)
}

fn words_alone(nth: u64, token: &str) -> Vec<u8> {
    of(&format!("packages?mode=relevant&ranking=lexical&query={}", query(nth)), token)
}

fn query(nth: u64) -> String {
    Drawn::of(!nth).words(1 + usize::try_from(nth % 6).unwrap_or(0)).replace(' ', "+")
}

/// Deposits this many packages; returns the seconds until all have their vectors.
pub(super) async fn embedded(at: SocketAddr, count: u64) -> Result<f64> {
    let token = author(at).await?;
    let begin = now_ns();
    deposit_all(count, at, &token).await?;
    Ok(between(begin, now_ns()).as_secs_f64())
}

/// Waits until all deposits are found.
pub(super) async fn everything_indexed(at: SocketAddr) -> Result<()> {
    loop {
        let body = one(at, &request("GET", "/search?q=nothing-of-it&limit=1", OPERATOR, b"")).await?;
        if serde_json::from_slice::<Value>(&body)?["complete"] == true {
            return Ok(());
        }
    }
}

/// Deposits all packages; for how many seconds it is waited until they are found.
async fn deposit_all(count: u64, at: SocketAddr, token: &str) -> Result<f64> {
    console::print_line(&format!("    depositing {count} packages"));
    let mut deposited = 0;
    while deposited < count {
        let some = deposited..count.min(deposited + BULK);
        deposited = some.end;
        let token = token.to_owned();
        bulk(at, some.map(move |nth| depositing(PROJECT, nth, &token))).await?;
    }
    found_all(at).await
}

/// A request, and what half and nearly all of its answers may take, in microseconds.
type MeasuredRequest<'a> = (&'a str, Way<'a>, f64, Option<f64>);

async fn measured(
    (bench, count): (&Bench, u64),
    at: SocketAddr,
    ways: &[MeasuredRequest<'_>],
    waited: f64,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &(what, way, p50_max, p99_max) in ways {
        let (mut p50, mut p99) = (Series::default(), Series::default());
        for round in 0..bench.sizes.rounds as u64 {
            let mut samples = timed(at, way, round, bench.sizes.timed).await?;
            p50.0.push(percentile(&mut samples, 0.5)?);
            p99.0.push(percentile(&mut samples, 0.99)?);
        }
        let row = |part: &str, figure, goal| Row {
            id: "P13",
            what: format!("{what} over {count} packages of 2 KiB, {part}"),
            unit: Unit::Micros,
            figure,
            limit: None,
            goal,
            note: format!("all were found {waited:.1} s after the last deposit"),
        };
        rows.push(row("p50", p50, Goal::AtMost(p50_max)));
        rows.push(row("p99", p99, p99_max.map_or(Goal::None, Goal::AtMost)));
    }
    Ok(rows)
}

type Way<'a> = &'a dyn Fn(u64) -> Vec<u8>;

/// One request after the other; how long each took, in nanoseconds.
async fn timed(at: SocketAddr, way: Way<'_>, round: u64, count: u64) -> Result<Vec<u64>> {
    let mut connection = HttpConnection::open(at).await?;
    let mut samples = Vec::new();
    for nth in 0..count {
        let request = way(round * count + nth);
        let begin = now_ns();
        let (status, _) = connection.exchange(&request).await?;
        anyhow::ensure!(status == 200, "a list was answered with {status}");
        samples.push(u64::try_from(between(begin, now_ns()).as_nanos()).unwrap_or(u64::MAX));
    }
    Ok(samples)
}

async fn lag(at: SocketAddr) -> Result<u64> {
    let body = one(at, &request("GET", "/v1/conformance", OPERATOR, b"")).await?;
    let value: Value = serde_json::from_slice(&body)?;
    let lexical = value["x-search"]["lag_events"].as_u64().context("the lag of the search")?;
    Ok(lexical + value["x-search"]["semantic_lag_events"].as_u64().unwrap_or(0))
}

/// Waits until every package is found; for how many seconds.
async fn found_all(at: SocketAddr) -> Result<f64> {
    let begin = now_ns();
    while lag(at).await? > 0 {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(between(begin, now_ns()).as_secs_f64())
}
