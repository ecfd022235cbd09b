//! Whether a group can be written without the lock on the head: in one statement that does nothing if the log has
//! grown since this process last saw it.
//! Must not know: the statement.

use std::collections::{HashMap, HashSet};

use plenary_kernel::Version;
use plenary_log::{Batch, IndexOp, StreamName};

use super::streams::Streams;

/// Whether every batch is accepted on the remembered streams, and depends on nothing else: then the position of the
/// head vouches for all of it.
pub(crate) fn is_certain<'a>(batches: impl IntoIterator<Item = &'a Batch>, streams: &Streams) -> bool {
    let (mut grown, mut keys) = (HashMap::<&StreamName, Version>::new(), HashSet::new());
    batches.into_iter().all(|batch| {
        let is_new = batch.key.as_ref().is_none_or(|claim| keys.insert((&claim.scope, &claim.key)));
        is_new && !depends_on_more(batch) && is_accepted(batch, streams, &mut grown)
    })
}

/// Rows can change without the head. A deletion does not find what was written after the statement began.
fn depends_on_more(batch: &Batch) -> bool {
    let deletes = |op: &IndexOp| matches!(op, IndexOp::Delete { .. });
    !batch.rows.is_empty() || batch.index.iter().any(deletes)
}

fn is_accepted<'a>(
    batch: &'a Batch,
    streams: &Streams,
    grown: &mut HashMap<&'a StreamName, Version>,
) -> bool {
    let version = |name: &StreamName, grown: &HashMap<&StreamName, Version>| {
        grown.get(name).copied().or_else(|| streams.get(name).map(|stream| stream.version))
    };
    let holds = batch.chain.as_ref().is_none_or(|chain| !chain.is_broken())
        && batch.conditions.iter().all(|condition| {
            condition.upon.as_ref().is_none_or(|chain| !chain.is_broken())
                && version(&condition.stream, grown) == Some(condition.expected)
        });
    holds
        && batch.events.iter().all(|(stream, _)| {
            let before = version(stream, grown);
            grown.extend(before.map(|before| (stream, before.next())));
            before.is_some()
        })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use plenary_kernel::{Position, TimestampMs};
    use plenary_log::{Chain, Condition, KeyClaim, NewEvent, RowOp, StoredEvent};

    use super::*;

    fn name(id: &str) -> StreamName {
        StreamName::new("t.t", id)
    }

    /// The streams `a` at version 2 and `b` at version 1.
    fn streams() -> Streams {
        let mut streams = Streams::new(Position(0));
        let event = |position, id, version| StoredEvent {
            position: Position(position),
            stream: name(id),
            version: Version(version),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: Bytes::new(),
            payload: Bytes::new(),
        };
        let events = [event(1, "a", 1), event(2, "b", 1), event(3, "a", 2)];
        streams.committed(events.iter().zip([1, 2, 1]), 2);
        streams
    }

    /// An event on a stream that is at this version.
    fn append(id: &str, version: u64) -> Batch {
        let event = NewEvent { kind: "K", form: 1, envelope: Bytes::new(), payload: Bytes::new() };
        Batch {
            conditions: vec![Condition::at(name(id), Version(version))],
            events: vec![(name(id), event)],
            ..Batch::default()
        }
    }

    #[test]
    fn what_the_head_vouches_for_is_certain() {
        let streams = streams();
        assert!(is_certain(&[append("a", 2), append("b", 1), append("a", 3), append("a", 4)], &streams));
    }

    #[test]
    fn what_may_be_refused_is_not() {
        let streams = streams();
        for stale in ["a", "b", "unknown"] {
            assert!(!is_certain(&[append("a", 2), append(stale, 2)], &streams), "{stale}");
        }
        let broken = Chain::new(name("a"));
        broken.break_off();
        assert!(!is_certain(&[Batch { chain: Some(broken), ..append("a", 2) }], &streams));
        let claim =
            || Some(KeyClaim { scope: "s".into(), key: "k".into(), digest: [0; 32], outcome: Bytes::new() });
        let keyed = |version| Batch { key: claim(), ..append("a", version) };
        assert!(is_certain(&[keyed(2)], &streams), "the index of keys refuses a claimed one");
        assert!(!is_certain(&[keyed(2), keyed(3)], &streams));
    }

    #[test]
    fn what_the_head_says_nothing_about_is_not() {
        let streams = streams();
        let rows = vec![RowOp { name: "r".into(), expected: None, value: None }];
        assert!(!is_certain(&[Batch { rows, ..append("a", 2) }], &streams));
        let index = vec![IndexOp::Delete { name: "i", key: "k".into() }];
        assert!(!is_certain(&[Batch { index, ..append("a", 2) }], &streams));
    }
}
