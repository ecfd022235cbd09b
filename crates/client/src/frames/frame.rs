//! The frame: a closed object (FO-1 to FO-16), created here or read from a stream.
//! Must not know: the transport of frames.

use plenary_kernel::{SovereignHandle, TimestampMs, rfc3339};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ComputeLocation, ContextCheck, Kind, Payload, Uuid};
use crate::{Error, Result};

/// The only version of the envelope (FO-6).
pub const VERSION: &str = "1.0";
/// How long a frame without `ttl_ms` counts as current (FO-82): one hour.
pub const DEFAULT_HORIZON_MS: u64 = 3_600_000;

/// A frame, with the members of wire.md 1.1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// [`VERSION`]
    pub envelope_version: String,
    /// Chosen by the sender; a receiver may drop duplicates by it (FO-83).
    pub frame_id: Uuid,
    /// Its kind.
    pub kind: Kind,
    /// The sending principal, which the server compares with the token (FO-9).
    pub sender_handle: SovereignHandle,
    /// The principal that the scope names.
    pub recipient_handle: SovereignHandle,
    /// RFC 3339 with a zone (FO-12).
    pub created_at: String,
    /// The lifetime of its content, in milliseconds (FO-13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The payload; [`Payload`] parses it by kind.
    pub payload: Map<String, Value>,
    /// On whose behalf (FO-14).
    pub acted_by: SovereignHandle,
    /// The agent runtime that composed it: a handle, optionally followed by `@version`.
    pub drafted_with: String,
    /// Where its content was computed.
    pub provenance_compute_location: ComputeLocation,
    /// How its content was made; at least one tag.
    pub provenance_method: Vec<String>,
    /// A return record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance_return_ref: Option<String>,
    /// Whether the sender checked its policy.
    pub provenance_context_check: ContextCheck,
    /// The stream it belongs to, and the basis on which that stream is sent.
    pub provenance_basis: String,
}

impl Frame {
    /// A time in the form of a frame's `created_at`.
    pub fn time(at: TimestampMs) -> String {
        rfc3339::Utc(at).to_string()
    }

    /// When it was created; zero before 1970.
    pub fn creation_time(&self) -> TimestampMs {
        TimestampMs(rfc3339::parse(&self.created_at).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0))
    }

    /// Whether its lifetime is over (FO-82).
    pub fn is_stale(&self, now: TimestampMs) -> bool {
        let horizon = self.ttl_ms.unwrap_or(DEFAULT_HORIZON_MS);
        self.creation_time().0.saturating_add(horizon) < now.0
    }
}

/// A frame from a stream.
#[derive(Debug, Clone)]
pub struct ReceivedFrame {
    /// Its id on the stream, which increases per handle; `None` if the server sent none.
    pub event_id: Option<u64>,
    /// The frame.
    pub frame: Frame,
    /// Its payload, by kind.
    pub payload: Payload,
    json: Box<str>,
}

impl ReceivedFrame {
    /// Parses a frame, as strictly as a receiver must: closed, of the one version, with a payload that fits its kind
    /// (FO-1 to FO-6).
    ///
    /// # Errors
    /// [`Error::Unreadable`] when it is not a valid frame.
    pub fn read(event_id: Option<u64>, json: &str) -> Result<Self> {
        let bad = |why: String| Error::Unreadable(format!("not a frame ({why})"));
        let frame: Frame = serde_json::from_str(json).map_err(|e| bad(e.to_string()))?;
        if frame.envelope_version != VERSION {
            return Err(bad(format!("envelope version {}", frame.envelope_version)));
        }
        if rfc3339::parse(&frame.created_at).is_none() {
            return Err(bad("created_at is not an RFC 3339 time with a zone".into()));
        }
        if frame.provenance_method.is_empty() {
            return Err(bad("provenance_method is empty".into()));
        }
        let payload = Payload::read(frame.kind, &frame.payload).map_err(|e| bad(format!("payload: {e}")))?;
        Ok(Self { event_id, frame, payload, json: json.into() })
    }

    /// The frame's JSON, unchanged.
    pub fn json(&self) -> &str {
        &self.json
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A frame of Nick's, made at this moment.
    pub(crate) fn frame(payload: &Payload, at: u64) -> Frame {
        let nick: SovereignHandle = "~nick".parse().unwrap();
        Frame {
            envelope_version: VERSION.into(),
            frame_id: Uuid::random(),
            kind: payload.kind(),
            sender_handle: nick.clone(),
            recipient_handle: nick.clone(),
            created_at: Frame::time(TimestampMs(at)),
            ttl_ms: None,
            payload: payload.to_object(),
            acted_by: nick,
            drafted_with: "~cc-laptop".into(),
            provenance_compute_location: ComputeLocation::ServerActive,
            provenance_method: vec!["test".into()],
            provenance_return_ref: None,
            provenance_context_check: ContextCheck::Skipped,
            provenance_basis: "test".into(),
        }
    }

    fn changed(member: &str, value: Option<Value>) -> Result<ReceivedFrame> {
        let payload =
            Payload::Advisory(super::super::Advisory { advisory_text: "x".into(), ..Default::default() });
        let mut whole = serde_json::to_value(frame(&payload, 5)).unwrap();
        match value {
            Some(value) => whole[member] = value,
            None => drop(whole.as_object_mut().unwrap().remove(member)),
        }
        ReceivedFrame::read(Some(1), &whole.to_string())
    }

    #[test]
    fn fo_3_fo_5_fo_6_a_frame_that_is_not_as_specified_is_refused() {
        assert!(changed("kind", Some(json!("agent_advisory"))).is_ok());
        for (member, value) in [
            ("envelope_version", json!("1.1")),
            ("kind", json!("agent_gossip")),
            ("kind", json!("agent_query")),
            ("sender_handle", json!("nick")),
            ("created_at", json!("2026-05-22T10:00:00")),
            ("ttl_ms", json!("5")),
            ("payload", json!([])),
            ("payload", json!({"advisory_text": "x", "more": 1})),
            ("provenance_method", json!([])),
            ("provenance_context_check", json!("maybe")),
            ("colour", json!("red")),
        ] {
            assert!(changed(member, Some(value.clone())).is_err(), "{member}: {value}");
        }
        for member in ["frame_id", "kind", "payload", "acted_by", "provenance_basis"] {
            assert!(changed(member, None).is_err(), "{member}");
        }
    }

    #[test]
    fn fo_82_a_frame_is_stale_past_its_own_time_or_the_default_horizon() {
        let mut frame = changed("ttl_ms", Some(json!(10))).unwrap().frame;
        assert!(!frame.is_stale(TimestampMs(15)) && frame.is_stale(TimestampMs(16)));
        frame.ttl_ms = None;
        assert!(!frame.is_stale(TimestampMs(5 + DEFAULT_HORIZON_MS)));
        assert!(frame.is_stale(TimestampMs(6 + DEFAULT_HORIZON_MS)));
        frame.ttl_ms = Some(u64::MAX);
        assert!(!frame.is_stale(TimestampMs(u64::MAX - 1)));
    }
}
