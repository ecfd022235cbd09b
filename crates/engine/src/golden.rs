//! Golden bytes, for the tests of the rooms: each event is stored as it always was, and what was stored is read.
//! Must not know: any one event.

use std::fmt::Debug;

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{Fault, NewEvent, StoredEvent, StreamName};

use crate::stored::StoredForm;

/// An event as the store returns it, the first of a stream.
pub fn stored(event: NewEvent) -> StoredEvent {
    StoredEvent {
        position: Position(1),
        stream: StreamName::new("any.stream", "x"),
        version: Version(1),
        kind: event.kind.into(),
        form: event.form,
        at: TimestampMs(1_000),
        envelope: event.envelope,
        payload: event.payload,
    }
}

/// Checks that an event is stored as these bytes in form 1, and that these bytes are read as the event. Other forms and
/// kinds are corrupt, and so is an envelope without its end.
///
/// # Panics
/// If the stored form is another one.
#[track_caller]
pub fn assert_frozen<E: StoredForm + PartialEq + Debug>(
    event: &E,
    kind: &str,
    envelope: &str,
    payload: &str,
) {
    let written = event.encode();
    let [text, content] = [&written.envelope, &written.payload].map(|bytes| String::from_utf8_lossy(bytes));
    assert_eq!((written.kind, written.form, &*text, &*content), (kind, 1, envelope, payload));
    let [envelope, payload] = [envelope, payload].map(|text| Bytes::copy_from_slice(text.as_bytes()));
    // What was stored is read, whatever wrote it.
    let golden = StoredEvent { kind: kind.to_owned().into(), envelope, payload, ..stored(event.encode()) };
    assert_eq!(&E::decode(&golden).expect("golden bytes can be read"), event);
    let cut = golden.envelope.slice(..golden.envelope.len() - 1);
    let other_form = |form| StoredEvent { form, ..golden.clone() };
    let other_kind = |kind: &str| StoredEvent { kind: kind.to_owned().into(), ..golden.clone() };
    let other_envelope = |envelope| StoredEvent { envelope, ..golden.clone() };
    for bad in [
        other_form(0),
        other_form(2),
        other_kind(&format!("{kind}2")),
        other_kind(&kind.to_lowercase()),
        other_kind(""),
        other_envelope(cut),
        other_envelope(Bytes::new()),
        other_envelope(Bytes::from_static(b"\xff")),
    ] {
        assert!(matches!(E::decode(&bad), Err(Fault::Corrupt(_))), "{bad:?}");
    }
}
