//! The frames that `/watch` reports to an owner: those on the stream of its handle, which are for its
//! agents, and those that its agents send to others.
//! Must not know: the transport of the report.

use plenary_kernel::{OwnerName, SovereignHandle};
use plenary_room::{EphemeralEvent, EphemeralSource, OnlookerEvent, excerpt};
use serde_json::{Value, json};

use crate::{
    Frames,
    frames::{Event, sent_by},
};

impl EphemeralSource for Frames {
    fn room(&self) -> &'static str {
        "frames"
    }

    fn retained(&self, owner: &OwnerName, after: u64) -> Vec<EphemeralEvent> {
        let Ok(handle) = format!("~{owner}").parse::<SovereignHandle>() else { return Vec::new() };
        let retained = |key: &str| self.0.lane.retained(key, None, after);
        let mut retained = [retained(handle.as_str()), retained(&sent_by(&handle))].concat();
        // The handle's counter numbers both.
        retained.sort_by_key(|(number, _)| *number);
        retained.into_iter().filter_map(|(_, event)| reported(handle.as_str(), &event)).collect()
    }

    fn on_arrival(&self, wake: Box<dyn Fn(&OwnerName) + Send + Sync>) {
        self.add_listener(move |handle: &SovereignHandle| wake(&crate::decide::owner_of(handle)));
    }
}

/// The parts of a frame for a list. An agent of the owner may receive it or has sent it, so the owner
/// may see it; an agent reads its own stream.
fn reported(handle: &str, event: &Event) -> Option<EphemeralEvent> {
    let frame: Value = serde_json::from_slice(&event.line).ok()?;
    let member = |name: &str| frame.get(name).and_then(Value::as_str).unwrap_or_default();
    let payload = frame.get("payload").map(Value::to_string).unwrap_or_default();
    let data = json!({
        "number": event.number.to_string(),
        "frame_id": member("frame_id"),
        "from": member("sender_handle"),
        "to": member("recipient_handle"),
        "text": excerpt(&payload),
    });
    let kind = format!("frame.{}", member("kind"));
    let agents = event.submitter.iter().cloned().collect();
    let content = OnlookerEvent::new(kind, handle, agents, data, |_| true);
    Some(EphemeralEvent { number: event.number, at: event.arrived_at, content })
}
