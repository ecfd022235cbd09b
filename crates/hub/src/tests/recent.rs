//! The recently committed events for a follower.

use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{StoredEvent, StreamName};

use crate::Recent;

fn event(position: u64, payload: usize) -> StoredEvent {
    StoredEvent {
        position: Position(position),
        stream: StreamName::new("t.t", "1"),
        version: Version(1),
        kind: "K".into(),
        form: 1,
        at: TimestampMs(0),
        envelope: bytes::Bytes::new(),
        payload: vec![0; payload].into(),
    }
}

fn after(recent: &Recent, position: u64, max: usize) -> Option<(Vec<u64>, u64)> {
    let (events, until) = recent.after(Position(position), max)?;
    Some((events.iter().map(|event| event.position.0).collect(), until.0))
}

#[test]
fn events_after_a_position_come_in_order_with_their_extent() {
    let mut recent = Recent::new(1_000);
    assert_eq!(after(&recent, 0, 8), None, "nothing was seen yet");
    recent.push(Position(5), Position(9), [event(6, 1), event(8, 1)]);
    assert_eq!(after(&recent, 3, 8), None, "before it began");
    assert_eq!(after(&recent, 4, 8), Some((vec![6, 8], 9)));
    assert_eq!(after(&recent, 4, 1), Some((vec![6], 6)), "7 is not passed over with what is left out");
    assert_eq!(after(&recent, 6, 8), Some((vec![8], 9)));
    assert_eq!(after(&recent, 10, 8), Some((vec![], 10)), "who is further knows more");
    recent.forget(Position(6));
    assert_eq!(after(&recent, 4, 8), None, "it was not needed again");
    assert_eq!(after(&recent, 6, 8), Some((vec![8], 9)));
    assert_eq!((recent.from(), recent.events().len()), (Some(Position(6)), 1));
}

#[test]
fn past_its_bytes_the_oldest_fall_out() {
    let mut recent = Recent::new(100);
    recent.push(Position(1), Position(2), [event(1, 80), event(2, 60)]);
    assert_eq!(after(&recent, 0, 8), None);
    assert_eq!(after(&recent, 1, 8), Some((vec![2], 2)));
    recent.push(Position(3), Position(3), [event(3, 101)]);
    assert_eq!(after(&recent, 2, 8), None, "one that is too large is read from the log");
    assert_eq!(after(&recent, 3, 8), Some((vec![], 3)));
}
