//! P20: what a model in the server costs: its start, and how many packages a second get their vectors.
//! Must not know: the model.

use anyhow::{Result, ensure};

use super::context;
use crate::{
    bench::Bench,
    report::{Goal, Row, Series, Unit},
};

/// Packages that get vectors in a round.
const PACKAGES: u64 = 100;

pub(super) async fn measure(bench: &mut Bench, model: &str) -> Result<Vec<Row>> {
    let source = format!("local:{model}");
    let [mut with, mut without, mut rate] = [Series::default(), Series::default(), Series::default()];
    for _ in 0..bench.sizes.rounds {
        without.0.push(bench.server()?.started_in.as_secs_f64() * 1e3);
        let server = bench.server_with(&["--embeddings", &source])?;
        with.0.push(server.started_in.as_secs_f64() * 1e3);
        let took = context::embedded(server.address(), PACKAGES).await?;
        ensure!(took > 0.0, "no time has passed");
        rate.0.push(PACKAGES as f64 / took);
    }
    let row = |what: &str, unit, figure, limit| Row {
        id: "P20",
        what: what.to_owned(),
        unit,
        figure,
        limit,
        goal: Goal::None,
        note: String::new(),
    };
    let limit = Some(("the server, without a model".to_owned(), without));
    Ok(vec![
        row("start of a server with all-MiniLM-L6-v2", Unit::Millis, with, limit),
        row("packages of 2 KiB that get their vectors from it", Unit::PerSecond, rate, None),
    ])
}
