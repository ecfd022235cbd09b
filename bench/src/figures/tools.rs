//! P16: what a tool call costs beside the same operation by plain HTTP.
//! Must not know: how a tool is carried out.

use anyhow::{Result, ensure};

use super::percentile;
use crate::{
    bench::Bench,
    load::{HttpConnection, between, message_body, now_ns, request_with},
    report::{Goal, Row, Series, Unit},
    world::{Agent, agents, sending, session},
};

/// Calls of a round that do not count.
const WARM: u64 = 20;
const HEADERS: &str = "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
                       mcp-method: tools/call\r\nmcp-name: session_send\r\n";

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let server = bench.server()?;
    let pair = agents(server.address(), "tools", 2).await?;
    let id = session(server.address(), &pair).await?;
    let (plain, call) = (sending(&id, &pair[0]), calling(&id, &pair[0]));
    let mut connection = HttpConnection::open(server.address()).await?;
    let mut p50 = (Series::default(), Series::default());
    for _ in 0..bench.sizes.rounds {
        for (request, series) in [(&plain, &mut p50.0), (&call, &mut p50.1)] {
            let mut samples = Vec::new();
            for nth in 0..WARM + bench.sizes.timed {
                let begin = now_ns();
                let (status, body) = connection.exchange(request).await?;
                let end = now_ns();
                let refused = memchr::memmem::find(body, b"\"isError\":true").is_some();
                ensure!(status < 300 && !refused, "{status}: {}", String::from_utf8_lossy(body));
                if nth >= WARM {
                    samples.push(u64::try_from(between(begin, end).as_nanos()).unwrap_or(u64::MAX));
                }
            }
            series.0.push(percentile(&mut samples, 0.5)?);
        }
    }
    server.stop().await?;
    Ok(vec![Row {
        id: "P16",
        what: "send by a tool call of the Model Context Protocol, one request after the other, p50"
            .to_owned(),
        unit: Unit::Micros,
        figure: p50.1,
        limit: Some(("the same by plain HTTP".to_owned(), p50.0)),
        goal: Goal::RatioAtMost(1.5),
        note: String::new(),
    }])
}

/// The call of the tool that sends the same message.
fn calling(session: &str, agent: &Agent) -> Vec<u8> {
    let body = message_body();
    let members = String::from_utf8_lossy(&body[1..]).into_owned();
    let meta = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
                \"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},\
                \"io.modelcontextprotocol/clientCapabilities\":{}}";
    let call = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"session_send\",\
         \"arguments\":{{\"id\":\"{session}\",{members},{meta}}}}}"
    );
    request_with("POST", "/mcp", &agent.token, HEADERS, call.as_bytes())
}
