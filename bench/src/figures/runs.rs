//! P15: what a run costs, from the request to its end, when its agent does nothing.
//! Must not know: how a run is carried out.

use anyhow::{Result, ensure};

use super::percentile;
use crate::{
    bench::Bench,
    load::{HttpConnection, between, now_ns, request},
    process::OPERATOR,
    report::{Goal, Row, Series, Unit},
    world::{Agent, sending},
};

/// Runs and messages of a round that do not count.
const WARM: u64 = 20;
/// How a run ends.
const END: &[u8] = b"event: RunCompleted";

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let (limit, server) = (bench.sqlwal()?, bench.server()?);
    let bare = sending("sess_0", &Agent { handle: String::new(), token: "0".to_owned() });
    let starting = request("POST", "/agent/echo/stream_request", OPERATOR, br#"{"input":"x"}"#);
    let mut to_limit = HttpConnection::open(limit.address()).await?;
    let mut to_server = HttpConnection::open(server.address()).await?;
    let mut p50 = (Series::default(), Series::default());
    for _ in 0..bench.sizes.rounds {
        let mut samples = Vec::new();
        for nth in 0..WARM + bench.sizes.timed {
            let begin = now_ns();
            let (status, _) = to_limit.exchange(&bare).await?;
            ensure!(status < 300, "the limit answered with {status}");
            keep(&mut samples, nth, begin, now_ns());
        }
        p50.0.0.push(percentile(&mut samples, 0.5)?);
        samples.clear();
        for nth in 0..WARM + bench.sizes.timed {
            let begin = now_ns();
            let end = to_server.until(&starting, END).await?;
            keep(&mut samples, nth, begin, end);
        }
        p50.1.0.push(percentile(&mut samples, 0.5)?);
    }
    Ok(vec![Row {
        id: "P15",
        what: "a run of the agent that echoes, from stream_request to RunCompleted, p50".to_owned(),
        unit: Unit::Micros,
        figure: p50.1,
        limit: Some(("sqlwal acknowledgement, 1".to_owned(), p50.0)),
        goal: Goal::RatioAtMost(2.0),
        note: "a run is on disk before it begins and when it has ended: two flushes".to_owned(),
    }])
}

fn keep(samples: &mut Vec<u64>, nth: u64, begin: u64, end: u64) {
    if nth >= WARM {
        samples.push(u64::try_from(between(begin, end).as_nanos()).unwrap_or(u64::MAX));
    }
}
