//! Shared code of the tests of event files: the golden bytes of a form, both ways.
//! Must not know: any one event.

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
