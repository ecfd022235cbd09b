//! P14: how many events a second are appended to channels while every request is exported as a span.
//! Must not know: what collects the spans.

use anyhow::Result;

use super::send::{PUBLISHERS, Turns};
use crate::{
    bench::Bench,
    load::{bulk, content, request},
    report::Row,
    world::{World, agents, member},
};

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let (limit, collector) = (bench.sqlwal()?, bench.limit(&["collector"])?);
    let endpoint = format!("http://{}", collector.address());
    let server = bench.server_in(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)])?;
    let agents = agents(server.address(), "ch", PUBLISHERS).await?;
    let creating = |token: &str| request("POST", "/agent-channel", token, br#"{"title":"bench"}"#);
    let creations: Vec<_> = agents.iter().map(|agent| creating(&agent.token)).collect();
    let created = bulk(server.address(), creations.into_iter()).await?;
    let body = [&br#"{"kind":"comms","payload":{"content":""#[..], &content(), br#""}}"#].concat();
    let mut requests = Vec::new();
    for (created, agent) in created.iter().zip(&agents) {
        let path = format!("/agent-channel/{}/event", member(created, "id")?);
        requests.push(request("POST", &path, &agent.token, &body));
    }
    let mut bare = World::sending(limit.address(), requests.clone().into_iter()).await?;
    let mut world = World::sending(server.address(), requests.into_iter()).await?;
    let mut turns = Turns::default();
    for _ in 0..bench.sizes.rounds {
        turns.take(bench, &mut bare, &mut world, PUBLISHERS).await?;
    }
    let what = "append to a channel with OTLP export on, 64 publishers in 64 channels".to_owned();
    Ok(vec![turns.row("P14", what, "sqlwal, 64, the same bodies", 0.60)])
}
