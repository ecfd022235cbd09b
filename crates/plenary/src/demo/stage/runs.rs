//! The runs of the demonstration: requests to an agent and its output are printed and counted.
//! Must not know: the script.

use anyhow::Context as _;
use plenary_client::{
    Client, IdempotencyKey, Signal, StreamOptions,
    runs::{Chat, RunEvent, RunReceipt, RunStream},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{STEP, Stage, story};
use crate::out::Style;

impl Stage {
    /// A player's client, for requests whose reply is not JSON.
    pub(in crate::demo) fn client(&mut self, handle: &'static str) -> anyhow::Result<Client> {
        Ok(self.player(handle)?.client.clone())
    }

    /// Starts a run of an agent, and follows it.
    pub(in crate::demo) async fn ask(
        &mut self,
        handle: &'static str,
        agent: &str,
        chat: &Chat,
    ) -> anyhow::Result<(RunReceipt, RunStream)> {
        self.requests += 1;
        let (path, body) = (format!("/agent/{agent}/run"), serde_json::to_value(chat)?);
        let out = self.voice.out;
        let line = story::request("POST", &path, Some(&body));
        self.pause(line.as_ref()).await?;
        self.exchange(
            handle,
            &json!({"agent": handle, "request": {"method": "POST", "path": path, "body": body}}),
            &format!("{handle} {} POST {path} {body}", out.paint(Style::Green, "→")),
            line,
        )?;
        let client = self.client(handle)?;
        let key = IdempotencyKey::random();
        let starting = client.start_run(agent, chat, &key);
        let run = timeout(STEP, starting).await.context("the request took too long")??;
        let stream = client.follow_run(agent, &run.run_id, None, StreamOptions::default());
        self.exchange(
            handle,
            &json!({"agent": handle, "reply": {"status": 202, "run_id": run.run_id}}),
            &format!("{handle} {} 202 X-Run-Id: {}", out.paint(Style::Green, "←"), run.run_id),
            None,
        )?;
        Ok((run, stream))
    }

    /// Waits for the next stored event of a run, and checks its type.
    pub(in crate::demo) async fn run_event(
        &mut self,
        handle: &'static str,
        stream: &mut RunStream,
        kind: &str,
    ) -> anyhow::Result<RunEvent> {
        loop {
            let signal =
                timeout(STEP, stream.next()).await.with_context(|| format!("{kind} should come"))??;
            match signal {
                Some(Signal::Event(event)) => {
                    self.events += 1;
                    let value: Value = serde_json::from_str(event.json())?;
                    self.exchange(
                        handle,
                        &json!({"agent": handle, "event": value}),
                        &format!("{handle} {} {}", self.voice.out.paint(Style::Yellow, "⇐"), event.json()),
                        story::event(handle, &value),
                    )?;
                    if event.id.is_some() {
                        anyhow::ensure!(event.kind == kind, "{kind} should come, not {}", event.json());
                        return Ok(*event);
                    }
                }
                Some(Signal::Opened | Signal::Keepalive) => {}
                other @ (None | Some(Signal::Unreadable(_) | Signal::Lost { .. })) => {
                    anyhow::bail!("{kind} should come, not {other:?}")
                }
            }
        }
    }
}
