//! Golden bytes, for the tests of the rooms: each event is stored as it always was, and what was stored is read.
//! Must not know: any one event.

use std::collections::BTreeSet;

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

/// The stored event of this kind, in form 1.
pub fn frozen(kind: &str, envelope: &str, payload: &str) -> StoredEvent {
    let [envelope, payload] = [envelope, payload].map(|text| Bytes::copy_from_slice(text.as_bytes()));
    StoredEvent { kind: kind.to_owned().into(), ..stored(NewEvent { kind: "", form: 1, envelope, payload }) }
}

/// Checks that these bytes, each a kind, an envelope and a payload in form 1, are read, and that what was read is stored as
/// the same bytes. Other forms and kinds are corrupt, and so is an envelope without its end. Every kind must be among them.
///
/// # Panics
/// If a stored form is another one, or one is missing.
#[track_caller]
pub fn assert_frozen_with<E: StoredForm>(forms: &[(&str, &str, &str)]) {
    for (kind, envelope, payload) in forms {
        assert_form::<E>(&frozen(kind, envelope, payload));
    }
    let kinds: BTreeSet<_> = forms.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, E::KINDS.iter().copied().collect(), "every kind has a frozen form");
}

/// The same for events without payloads.
///
/// # Panics
/// If a stored form is another one, or one is missing.
#[track_caller]
pub fn assert_frozen<E: StoredForm>(forms: &[(&str, &str)]) {
    let forms: Vec<_> = forms.iter().map(|(kind, envelope)| (*kind, *envelope, "")).collect();
    assert_frozen_with::<E>(&forms);
}

#[track_caller]
fn assert_form<E: StoredForm>(golden: &StoredEvent) {
    // What was stored is read, whatever wrote it.
    let event = E::decode(golden).expect("golden bytes can be read");
    let written = stored(event.encode());
    let texts = |event: &StoredEvent| {
        [&event.envelope, &event.payload].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    assert_eq!((&written.kind, written.form, texts(&written)), (&golden.kind, 1, texts(golden)));
    let kind = &golden.kind;
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
