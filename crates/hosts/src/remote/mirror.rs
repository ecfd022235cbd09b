//! Repeats the events of a remote run as events of this run.
//! Must not know: connections.

use plenary_outward::sse::SseEvent;
use plenary_runs::{EmitError, Event, EventKind, Output, ProgramMessage, RunEnd};
use serde_json::{Map, Value};

use super::link::Link;

/// The result of a remote event.
pub(super) enum MirrorOutcome {
    /// It was repeated or ignored.
    Handled,
    /// The remote run started.
    Started { run_id: String, thread_id: Option<String> },
    /// The remote run is over.
    Ended(RunEnd),
}

/// Repeats the events of one run.
pub(super) struct Mirror<'a> {
    link: &'a Link,
    output: Output,
    depth: u32,
}

impl<'a> Mirror<'a> {
    pub(super) fn new(link: &'a Link, output: Output, depth: u32) -> Self {
        Self { link, output, depth }
    }

    /// The output of the run here.
    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// `Err` with the problem, for people.
    pub(super) async fn handle(&mut self, event: SseEvent) -> Result<MirrorOutcome, String> {
        let members: Map<String, Value> = serde_json::from_str(&event.data)
            .map_err(|error| format!("the other agent's events are not readable: {error}"))?;
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        if text("type") == Some("TextDelta") {
            self.output.emit_delta(text("content").unwrap_or_default());
            return Ok(MirrorOutcome::Handled);
        }
        match ProgramMessage::read(event.data.as_bytes()) {
            Ok(ProgramMessage::Started) => {
                let run_id = text("run_id").ok_or("the other agent's RunStarted has no run_id")?.to_owned();
                Ok(MirrorOutcome::Started { run_id, thread_id: text("thread_id").map(str::to_owned) })
            }
            Ok(ProgramMessage::Ended(run_end)) => Ok(MirrorOutcome::Ended(run_end)),
            Ok(ProgramMessage::Event(output_event)) => {
                let output_event = self.store_artifact(&members, output_event).await?;
                let deeper = self.deeper(members.get("depth").and_then(Value::as_u64));
                match self.output.emit(output_event.deeper(deeper)).await {
                    Ok(()) => Ok(MirrorOutcome::Handled),
                    Err(EmitError::Over) => Ok(MirrorOutcome::Ended(RunEnd::canceled())),
                    Err(fault @ EmitError::TooLarge) => Err(fault.to_string()),
                }
            }
            // No event follows it.
            Err(fault) if text("type") == Some("RunCompleted") => {
                Err(format!("the other agent's RunCompleted is not readable: {fault}"))
            }
            // Later versions may have more types of event.
            Err(fault) => {
                tracing::debug!(%fault, "an event of another endpoint is left out");
                Ok(MirrorOutcome::Handled)
            }
        }
    }

    /// The depth of an event below our run: at least 1. An endpoint that used our depth counts from there, another
    /// one from 0.
    fn deeper(&self, remote_depth: Option<u64>) -> u32 {
        let remote_depth = remote_depth.and_then(|depth| u32::try_from(depth).ok()).unwrap_or(0);
        if remote_depth > self.depth { remote_depth - self.depth } else { remote_depth.saturating_add(1) }
    }

    /// Stores a remote artifact here, where our caller can fetch it. One that cannot be fetched keeps its URL.
    async fn store_artifact(&self, members: &Map<String, Value>, event: Event) -> Result<Event, String> {
        if event.kind != EventKind::ArtifactGenerated {
            return Ok(event);
        }
        let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Some(content) = self.link.fetch(text("url")).await {
            return Ok(Event::artifact(text("name"), text("mime_type"), content));
        }
        let mut members = event.members();
        members.insert("url".into(), self.link.absolute(text("url")).into());
        Event::new(EventKind::ArtifactGenerated, &members).map_err(|fault| fault.to_string())
    }
}
