//! The listening sessions of the demonstration: their frames are printed and checked.
//! Must not know: the script.

use anyhow::{Context as _, bail, ensure};
use http::Method;
use plenary_client::{
    Signal, StreamOptions,
    frames::{
        ComputeLocation, ContextCheck, Frame, FrameStream, Payload, Seat, Subscription, Uuid, VERSION, now,
    },
};
use plenary_kernel::{AgentHandle, SovereignHandle};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{STEP, Stage, story};
use crate::out::Style;

/// A listening session.
pub(super) struct Listener {
    stream: FrameStream,
    /// The id of the last event; ids increase (FO-59).
    last: u64,
}

impl Stage {
    /// Opens a stream of an agent's principal as this session (FO-53).
    pub(in crate::demo) async fn listen(
        &mut self,
        agent: &'static str,
        session: &'static str,
    ) -> anyhow::Result<()> {
        let client = self.player(agent)?.client.clone();
        let seat = Seat { session_id: Some(session.to_owned()), ..Seat::default() };
        let subscription = Subscription::of(sovereign(agent)?, seat);
        let mut stream = client.frames(subscription, StreamOptions::default());
        match timeout(STEP, stream.next()).await.context("the stream took too long")?? {
            Signal::Opened => {}
            other @ (Signal::Event(_) | Signal::Keepalive | Signal::Unreadable(_) | Signal::Lost { .. }) => {
                bail!("{agent} cannot listen: {other:?}")
            }
        }
        self.listeners.insert(agent, Listener { stream, last: 0 });
        self.action(
            agent,
            "listens",
            &format!("GET /handles/{}/stream as session {session}", sovereign(agent)?),
        )
    }

    /// Submits a frame, and checks the number of sessions that receive it (FO-56).
    pub(in crate::demo) async fn submit(
        &mut self,
        agent: &'static str,
        payload: &Payload,
        scope: &str,
        reached: u64,
    ) -> anyhow::Result<()> {
        let mut frame = composed(agent, payload)?;
        // A frame to a peer names the peer.
        if let Some(peer) = scope.strip_prefix("accord:").and_then(|rest| rest.split('/').next()) {
            frame.recipient_handle = format!("~{peer}").parse()?;
        }
        let frame = serde_json::to_value(frame)?;
        let path = format!("/frames?scope={scope}");
        let emitted = self.request(agent, Method::POST, &path, Some(frame), 200).await?;
        ensure!(emitted["delivered_count"] == reached, "it should reach {reached} sessions: {emitted}");
        Ok(())
    }

    /// Waits for the next frame of a listening agent and checks its kind and members of its payload.
    pub(in crate::demo) async fn frame(
        &mut self,
        agent: &'static str,
        kind: &str,
        expected: Value,
    ) -> anyhow::Result<Value> {
        self.events += 1;
        let listener = self.listeners.get_mut(agent).with_context(|| format!("{agent} does not listen"))?;
        let received = loop {
            let next = timeout(STEP, listener.stream.next()).await;
            match next.with_context(|| format!("{agent} should get {kind}, and nothing came"))?? {
                Signal::Event(received) => break received,
                Signal::Keepalive => {}
                other @ (Signal::Opened | Signal::Unreadable(_) | Signal::Lost { .. }) => {
                    bail!("{agent} should get {kind}: {other:?}")
                }
            }
        };
        let id = received.event_id.context("every event has an id")?;
        ensure!(id > listener.last, "ids rise: {id} came behind {}", listener.last);
        listener.last = id;
        let value: Value = serde_json::from_str(received.json())?;
        self.exchange(
            agent,
            &json!({"agent": agent, "id": id, "frame": value}),
            &format!("{agent} {} {}", self.voice.out.paint(Style::Yellow, "⇐"), received.json()),
            story::frame(kind),
        )?;
        ensure!(value["kind"] == kind, "{agent} should get {kind}, got {value}");
        for (member, expected) in expected.as_object().into_iter().flatten() {
            ensure!(
                value["payload"].get(member) == Some(expected),
                "{agent}: `{member}` should be {expected}: {value}"
            );
        }
        Ok(value)
    }
}

/// The principal of an agent.
pub(in crate::demo) fn sovereign(agent: &str) -> anyhow::Result<SovereignHandle> {
    let agent: AgentHandle = agent.parse()?;
    Ok(format!("~{}", agent.owner()).parse()?)
}

fn composed(agent: &str, payload: &Payload) -> anyhow::Result<Frame> {
    let handle = sovereign(agent)?;
    let instrument: AgentHandle = agent.parse()?;
    Ok(Frame {
        envelope_version: VERSION.to_owned(),
        frame_id: Uuid::random(),
        kind: payload.kind(),
        sender_handle: handle.clone(),
        recipient_handle: handle.clone(),
        created_at: Frame::time(now()),
        ttl_ms: Some(60_000),
        payload: payload.to_object(),
        acted_by: handle,
        drafted_with: format!("~{}", instrument.name()),
        provenance_compute_location: ComputeLocation::LocalOnly,
        provenance_method: vec!["demonstration".to_owned()],
        provenance_return_ref: None,
        provenance_context_check: ContextCheck::Skipped,
        provenance_basis: "agent-channel/demonstration".to_owned(),
    })
}
