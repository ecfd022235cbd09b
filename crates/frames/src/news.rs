//! The retained frames for an agent, and the wake-up for a new one.
//! Must not know: marks, or the presentation.

use plenary_accounts::TokenDigest;
use plenary_kernel::{AgentHandle, SovereignHandle, TimestampMs};
use serde_json::Value;

use crate::{
    Frames,
    filter::Filter,
    frames::Subscriber,
    session::{Instrument, Session},
};

/// The session id under which an inbox reads; a scope can name it.
const READER: &str = "inbox";

/// A retained frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedFrame {
    /// Its number on the stream of the agent's principal.
    pub number: u64,
    /// The agent that submitted it.
    pub from: AgentHandle,
    /// When it arrived here.
    pub at: TimestampMs,
    /// Its id.
    pub frame_id: String,
    /// Its kind.
    pub kind: String,
    /// Its payload, as JSON.
    pub payload: String,
}

impl Frames {
    /// Adds a callback for each frame that arrives for a principal; it must not wait.
    pub fn add_listener(&self, listener: impl Fn(&SovereignHandle) + Send + Sync + 'static) {
        self.0.listeners.write().push(Box::new(listener));
    }

    /// The retained frames after a number that an agent may receive by their scope and the sender's
    /// trust, without its own. Frames beyond the retention are gone.
    pub fn retained(&self, me: &AgentHandle, after: u64) -> Vec<RetainedFrame> {
        let instrument = Instrument::of(me);
        let Ok(id) = READER.parse() else { return Vec::new() };
        let session = Session { agent: me.clone(), tool: instrument.class(), instrument, id };
        let reader = Subscriber {
            session,
            filter: Filter::default(),
            token: TokenDigest::of(""),
            started_at: self.0.clock.now(),
        };
        let retained = self.0.lane.retained(&format!("~{}", me.owner()), Some(&reader), after);
        let frames = retained.into_iter().filter_map(|(_, event)| {
            let from = event.submitter.clone().filter(|submitter| submitter != me)?;
            let frame: Value = serde_json::from_slice(&event.line).ok()?;
            let member = |name: &str| frame.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let payload = frame.get("payload").map(Value::to_string).unwrap_or_default();
            let (frame_id, kind) = (member("frame_id"), member("kind"));
            Some(RetainedFrame { number: event.number, from, at: event.arrived_at, frame_id, kind, payload })
        });
        frames.collect()
    }
}
