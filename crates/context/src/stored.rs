//! How this room's events are written and read: a kind, form 1, an envelope of JSON, and where it has one the peer's
//! own octets.
//! Must not know: any one event.

use bytes::Bytes;
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

/// The one form there is so far.
const FORM: u16 = 1;

/// The stored form of an event.
pub(crate) fn written(kind: &'static str, envelope: &impl Serialize, payload: Bytes) -> NewEvent {
    let envelope = serde_json::to_vec(envelope).expect("names, texts and flags can be written");
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
