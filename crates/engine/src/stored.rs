//! The stored form of events: a kind, form 1, a JSON envelope, and optionally the bytes from a peer.
//! Pure.
//! Must not know: any one event.

use bytes::Bytes;
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

/// The only form so far.
const FORM: u16 = 1;

/// The stored form of an event without a payload.
pub fn written(kind: &'static str, envelope: &impl Serialize) -> NewEvent {
    written_with(kind, envelope, Bytes::new())
}

/// The stored form of an event.
pub fn written_with(kind: &'static str, envelope: &impl Serialize, payload: Bytes) -> NewEvent {
    let envelope = serde_json::to_vec(envelope).expect("texts, numbers, lists and flags can be written");
    NewEvent { kind, form: FORM, envelope: envelope.into(), payload }
}

/// The envelope of an event.
///
/// # Errors
/// `Corrupt` when it has another form or cannot be read.
pub fn read<'a, T: Deserialize<'a>>(stored: &'a StoredEvent) -> Result<T, Fault> {
    if stored.form != FORM {
        return Err(corrupt(stored, "unknown form"));
    }
    serde_json::from_slice(&stored.envelope).map_err(|error| corrupt(stored, &error.to_string()))
}

/// An event of a kind that this stream does not have.
///
/// # Errors
/// Always `Corrupt`.
pub fn unknown<T>(stored: &StoredEvent) -> Result<T, Fault> {
    Err(corrupt(stored, "unknown kind"))
}

/// The fault of an event that cannot be read; names its stream and version.
pub fn corrupt(stored: &StoredEvent, why: &str) -> Fault {
    Fault::Corrupt(format!("{} at {} of {}: {why}", stored.kind, stored.version, stored.stream))
}
