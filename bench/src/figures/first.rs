//! What somebody waits for who comes first after a start: nothing of it is in memory.
//! Must not know: how a log grows.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::{context, growth::Grown};
use crate::{
    bench::Bench,
    load::{one, request},
    report::{Goal, Row, Series, Unit},
};

/// What the first one asks for.
const READS: [(&str, &str); 4] = [
    ("GET /inbox", "/inbox"),
    ("GET /sessions", "/sessions"),
    ("GET /search", "/search?q=quick+fox"),
    ("GET /search/agents", "/search/agents?q=other1"),
];
const MOST_MS: f64 = 100.0;

/// Each is the first request after a `kill -9` and a start on the grown store.
pub(super) async fn measure(bench: &Bench, grown: &Grown) -> Result<Vec<Row>> {
    let mut starts = Series::default();
    let mut rows = Vec::new();
    for (name, path) in READS {
        let mut figure = Series::default();
        for _ in 0..bench.sizes.rounds {
            let server = grown.server(bench)?;
            context::everything_indexed(server.address()).await?;
            server.kill()?;
            let server = grown.server(bench)?;
            starts.0.push(server.started_in.as_secs_f64() * 1e3);
            let begin = Instant::now();
            let answer = one(server.address(), &request("GET", path, &grown.hub.token, b"")).await?;
            figure.0.push(begin.elapsed().as_secs_f64() * 1e3);
            ensure!(!answer.is_empty(), "the answer is empty");
            server.kill()?;
        }
        rows.push(row(format!("the first `{name}` after it, of the agent in all sessions"), figure));
    }
    rows.insert(0, row("start after `kill -9` with everything indexed".to_owned(), starts));
    Ok(rows)
}

fn row(what: String, figure: Series) -> Row {
    let (id, unit, goal) = ("P10", Unit::Millis, Goal::AtMost(MOST_MS));
    Row { id, what, unit, figure, limit: None, goal, note: String::new() }
}
