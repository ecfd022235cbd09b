//! P9: what a connection costs that does nothing, and a server that has just started.
//! Must not know: what connections do.

use std::{path::Path, time::Duration};

use anyhow::Result;

use crate::{
    bench::Bench,
    load::{Readers, Watch},
    process::{Listening, Store},
    report::{Goal, Row, Series, Unit},
    world::{Agent, agents},
};

/// How long a server may come to rest before its memory is read.
const REST: Duration = Duration::from_secs(1);

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let count = bench.sizes.idle;
    let store = bench.fresh();
    let agents = registered(bench, &store, count).await?;
    let unregistered = Agent { handle: String::new(), token: "0".to_owned() };
    let (mut bare, mut idle) = (Series::default(), Series::default());
    let (mut start, mut own) = (Series::default(), Series::default());
    for _ in 0..bench.sizes.rounds {
        let limit = bench.limit(&["axumws"])?;
        bare.0.push(each(&limit, std::iter::repeat_n(&unregistered, count), count).await?);
        drop(limit);
        // Started anew: what it keeps of connected agents counts.
        let server = bench.server_on(&Store::Directory(store.clone()))?;
        idle.0.push(each(&server, agents.iter(), count).await?);
        drop(server);
        let server = bench.server()?;
        tokio::time::sleep(REST).await;
        start.0.push(server.resident_kib()? as f64 / 1024.0);
        own.0.push(server.anonymous_kib()? as f64 / 1024.0);
    }
    let row = |what: String, unit, figure, limit: Option<Series>, goal| Row {
        id: "P9",
        what,
        unit,
        figure,
        limit: limit.map(|series| ("axumws".to_owned(), series)),
        goal,
        note: String::new(),
    };
    Ok(vec![
        row(
            format!("memory of an idle WebSocket connection, {count} of them, each of another agent"),
            Unit::Kib,
            idle,
            Some(bare),
            Goal::RatioAtMost(1.1),
        ),
        row("memory of a server that has started".to_owned(), Unit::Mib, start, None, Goal::AtMost(25.0)),
        row(
            "of that, without pages of the binary and other files".to_owned(),
            Unit::Mib,
            own,
            None,
            Goal::None,
        ),
    ])
}

async fn registered(bench: &Bench, store: &Path, count: usize) -> Result<Vec<Agent>> {
    let server = bench.server_on(&Store::Directory(store.to_owned()))?;
    let agents = agents(server.address(), "idle", count).await?;
    server.stop().await?;
    Ok(agents)
}

/// Resident memory that each of these connections adds, in KiB.
async fn each(server: &Listening, agents: impl Iterator<Item = &Agent>, count: usize) -> Result<f64> {
    tokio::time::sleep(REST).await;
    let before = server.resident_kib()?;
    let mut readers = Readers::default();
    for agent in agents {
        readers
            .upgrade(server.address(), "/connect", &agent.token, Watch { order: false, buffer: 256 })
            .await?;
    }
    tokio::time::sleep(REST).await;
    readers.healthy()?;
    Ok((server.resident_kib()? - before) as f64 / count as f64)
}
