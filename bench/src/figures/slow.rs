//! P18: readers of large answers who read nothing, and what they cost the server and everybody else.
//! Must not know: how the server bounds what they hold.

use anyhow::{Result, ensure};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::percentile;
use crate::{
    bench::Bench,
    load::{HttpConnection, between, large_message_body, now_ns, request, unread},
    process::Listening,
    report::{Goal, Row, Series, Unit},
    world::{Agent, agents, session},
};

/// Large messages of the session that the slow readers ask for; more than a page holds.
const MESSAGES: usize = 24;
const MESSAGE_BYTES: usize = 700_000;
/// What the others ask for.
const OTHERS_PATH: &str = "/sessions";

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let server = bench.server()?;
    let at = server.address();
    let [slow, other] = [agents(at, "slow", 2).await?, agents(at, "other", 2).await?];
    let id = session(at, &slow).await?;
    session(at, &other).await?;
    let mut connection = HttpConnection::open(at).await?;
    let path = format!("/sessions/{id}/messages");
    let message = request("POST", &path, &slow[0].token, &large_message_body(MESSAGE_BYTES));
    for _ in 0..MESSAGES {
        let (status, body) = connection.exchange(&message).await?;
        ensure!(status < 300, "{status}: {}", String::from_utf8_lossy(body));
    }
    let (mut quiet, mut loaded, mut grown) = (Series::default(), Series::default(), Series::default());
    for _ in 0..bench.sizes.rounds {
        let before = server.resident_kib()?;
        quiet.0.push(p99(bench, &server, &other[0]).await?);
        let streams = readers(bench, &server, &format!("/sessions/{id}/events"), &slow[1]).await?;
        loaded.0.push(p99(bench, &server, &other[0]).await?);
        grown.0.push((server.peak_kib()?.saturating_sub(before)) as f64 / 1024.0);
        drop(streams);
    }
    server.stop().await?;
    let count = bench.sizes.slow;
    Ok(vec![
        Row {
            id: "P18",
            what: format!("`GET {OTHERS_PATH}` of another owner beside {count} readers who never read, p99"),
            unit: Unit::Micros,
            figure: loaded,
            limit: Some(("the same without them".to_owned(), quiet)),
            goal: Goal::RatioAtMost(2.0),
            note: String::new(),
        },
        Row {
            id: "P18",
            what: format!("memory that those {count} readers cost at most"),
            unit: Unit::Mib,
            figure: grown,
            limit: None,
            goal: Goal::AtMost(256.0),
            note: String::new(),
        },
    ])
}

/// Readers of a large page and, without a token, of the API's description; each stays while it is kept.
async fn readers(bench: &Bench, server: &Listening, path: &str, agent: &Agent) -> Result<Vec<TcpStream>> {
    let requests = [request("GET", path, &agent.token, b""), request("GET", "/openapi.json", "", b"")];
    let mut streams = Vec::new();
    for nth in 0..bench.sizes.slow {
        let mut stream = unread(server.address()).await?;
        stream.write_all(&requests[nth % 2]).await?;
        // Each has its answer under way, was refused one, or made room for others and is closed.
        let _ = stream.readable().await;
        streams.push(stream);
    }
    Ok(streams)
}

/// One request after the other, in microseconds.
async fn p99(bench: &Bench, server: &Listening, agent: &Agent) -> Result<f64> {
    let mut connection = HttpConnection::open(server.address()).await?;
    let listing = request("GET", OTHERS_PATH, &agent.token, b"");
    let mut samples = Vec::new();
    for _ in 0..bench.sizes.timed {
        let begin = now_ns();
        let (status, _) = connection.exchange(&listing).await?;
        let took = between(begin, now_ns());
        ensure!(status == 200, "{status}");
        samples.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }
    percentile(&mut samples, 0.99)
}
