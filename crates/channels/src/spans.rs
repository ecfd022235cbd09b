//! Records one span for each appended event, so that the agents' trace contains the channel (CH-6, CH-35).
//! Must not know: the exporter.

use std::time::Instant;

use plenary_telemetry::{FinishedSpan, Kind, Status, TraceParent};

use crate::{Channels, wire::Event};

pub(crate) struct CommittedAppend<'a> {
    pub(crate) event: &'a Event,
    /// The span of the caller, from its request.
    pub(crate) parent: Option<TraceParent>,
    /// When the server began to handle the request.
    pub(crate) started_at: Instant,
}

impl Channels {
    /// Records the span. Never waits and never fails.
    pub(crate) fn record_span(&self, append: CommittedAppend<'_>) {
        let spans = self.spans();
        if !spans.is_on() {
            return;
        }
        let CommittedAppend { event, parent, started_at } = append;
        let channel = event.channel_id.to_string();
        let author = if event.author.is_empty() { "(anonymous)" } else { &event.author };
        spans.record(FinishedSpan {
            name: format!("agent-channel.event.{}", event.kind).into(),
            kind: Kind::Internal,
            parent,
            links: Vec::new(),
            start: started_at,
            end: Instant::now(),
            attributes: vec![
                ("session.id", channel.clone().into()),
                ("agent.id", author.to_owned().into()),
                ("openinference.span.kind", "AGENT".into()),
                ("o2r.channel.id", channel.into()),
                ("o2r.channel.event.kind", event.kind.clone().into()),
                ("input.value", event.payload.get().to_owned().into()),
            ],
            status: Status::Unset,
        });
    }
}
