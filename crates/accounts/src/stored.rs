//! How this room's events are written and read: a kind, form 1, and an envelope of JSON.
//! Must not know: any one event.

use bytes::Bytes;
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

/// The one form there is so far.
const FORM: u16 = 1;

/// The stored form of an event without a payload.
pub(crate) fn written(kind: &'static str, envelope: &impl Serialize) -> NewEvent {
    written_with(kind, envelope, Bytes::new())
}

/// The stored form of an event.
pub(crate) fn written_with(kind: &'static str, envelope: &impl Serialize, payload: Bytes) -> NewEvent {
    let envelope = serde_json::to_vec(envelope).expect("names, lists and flags can be written");
    NewEvent { kind, form: FORM, envelope: envelope.into(), payload }
}

/// The envelope of an event; of another form it is corrupt.
pub(crate) fn read<'a, T: Deserialize<'a>>(stored: &'a StoredEvent) -> Result<T, Fault> {
    if stored.form != FORM {
        return Err(corrupt(stored, "unknown form"));
    }
    serde_json::from_slice(&stored.envelope).map_err(|error| corrupt(stored, &error.to_string()))
}

/// An event of a kind that this stream does not have.
pub(crate) fn unknown<T>(stored: &StoredEvent) -> Result<T, Fault> {
    Err(corrupt(stored, "unknown kind"))
}

pub(crate) fn corrupt(stored: &StoredEvent, why: &str) -> Fault {
    Fault::Corrupt(format!("{} at {} of {}: {why}", stored.kind, stored.version, stored.stream))
}

/// What the tests of every event file share: the golden bytes of a form, both ways.
#[cfg(test)]
pub(crate) mod golden {
    use plenary_kernel::{Position, TimestampMs, Version};
    use plenary_log::{NewEvent, StoredEvent, StreamName};

    /// The event as the store would give it back.
    pub(crate) fn stored(event: NewEvent) -> StoredEvent {
        StoredEvent {
            position: Position(1),
            stream: StreamName::new("accounts.any", "x"),
            version: Version(1),
            kind: event.kind.into(),
            form: event.form,
            at: TimestampMs(1_000),
            envelope: event.envelope,
            payload: event.payload,
        }
    }

    /// Checks that an event is written as `kind` 1 `envelope`.
    pub(crate) fn assert_written(event: &NewEvent, kind: &str, envelope: &str) {
        let text = std::str::from_utf8(&event.envelope).unwrap();
        assert_eq!((event.kind, event.form, text), (kind, 1, envelope));
    }
}
