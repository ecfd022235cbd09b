//! The tools of the demonstration: calls over the Model Context Protocol and their results are printed and counted.
//! Must not know: the script.

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use plenary_client::mcp::Answer;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{STEP, Stage, story};
use crate::out::Style;

const VERSION: &str = "2026-07-28";

impl Stage {
    /// Calls a tool; returns its structured result.
    pub(in crate::demo) async fn tool(
        &mut self,
        handle: &'static str,
        tool: &str,
        arguments: Value,
    ) -> anyhow::Result<Value> {
        self.requests += 1;
        let out = self.voice.out;
        let line = story::tool(tool, &arguments);
        self.pause(line.as_ref()).await?;
        self.exchange(
            handle,
            &json!({"agent": handle, "tool": tool, "arguments": arguments}),
            &format!("{handle} {} /mcp {tool} {arguments}", out.paint(Style::Green, "→")),
            line,
        )?;
        let client = self.client(handle)?;
        let call = message(self.requests, tool, &arguments);
        let headers = headers(tool)?;
        let answering = client.message("/mcp", &headers, Bytes::from(call.to_string()));
        let answer = timeout(STEP, answering).await.context("the call took too long")??;
        let text = match answer {
            Answer::Whole(reply) => String::from_utf8_lossy(&reply.body).into_owned(),
            Answer::Stream(mut messages) => {
                let last = timeout(STEP, messages.next()).await.context("the answer took too long")??;
                last.context("the stream ended without an answer")?
            }
        };
        let answer: Value = serde_json::from_str(&text).with_context(|| format!("an answer: {text}"))?;
        let result = &answer["result"];
        if !result.is_object() {
            bail!("{tool} was not carried out: {answer}");
        }
        let value = result["structuredContent"].clone();
        self.exchange(
            handle,
            &json!({"agent": handle, "result": value}),
            &format!("{handle} {} {value}", out.paint(Style::Green, "←")),
            None,
        )?;
        ensure!(result["isError"] != true, "{tool} was refused: {result}");
        Ok(value)
    }
}

fn message(id: usize, tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "plenary-demo", "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// The headers that the protocol's revision requires.
fn headers(tool: &str) -> anyhow::Result<[(HeaderName, HeaderValue); 3]> {
    let header = |name, value: &str| Ok::<_, anyhow::Error>((HeaderName::from_static(name), value.parse()?));
    Ok([
        header("mcp-protocol-version", VERSION)?,
        header("mcp-method", "tools/call")?,
        header("mcp-name", tool)?,
    ])
}
