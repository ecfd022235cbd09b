//! The checks of a whole store, once for every backend: positions and versions without gaps, and checksums.
//! Must not know: how a store is scanned.

use std::collections::HashMap;

use plenary_kernel::{Position, Version};

use crate::{Digest, StoredEvent, StreamName, Usage};

/// Most findings that are kept; beyond it they are only counted.
pub const FINDINGS_MAX: usize = 1_000;

/// A defect of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of damage: `damaged`, `missing`, `misplaced` or `database`.
    pub kind: &'static str,
    /// The position of the event, if it is an event.
    pub position: Option<Position>,
    /// A description for people.
    pub text: String,
}

/// The counts and findings of an audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Events.
    pub events: u64,
    /// Rows of indexes.
    pub index_rows: u64,
    /// Rows.
    pub rows: u64,
    /// Claimed keys.
    pub keys: u64,
    /// How many of these have no checksum, because they are older than checksums.
    pub unchecked: u64,
    /// The findings, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// The number of further findings.
    pub more: u64,
}

impl Audit {
    /// Adds a finding.
    pub fn find(&mut self, kind: &'static str, position: Option<Position>, text: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { kind, position, text });
        } else {
            self.more += 1;
        }
    }
    /// Whether there are no findings.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
    /// Compares a checksum; `what` names the record.
    pub fn check(
        &mut self,
        digest: Digest,
        stored: Option<i32>,
        position: Option<Position>,
        what: impl FnOnce() -> String,
    ) {
        self.unchecked += u64::from(stored.is_none());
        if !digest.agrees(stored) {
            self.find("damaged", position, what() + " is damaged");
        }
    }
}

/// A visitor of a store's walk, which sees the store as of one moment.
pub trait AuditVisitor {
    /// The next event of the log.
    fn event(&mut self, event: &StoredEvent);
    /// A row.
    fn row(&mut self, name: &str);
    /// A row, or a claimed key: it counts towards an owner's use, but the record does not name the
    /// owner.
    fn unowned_usage(&mut self, usage: Usage);
    /// The counted use of an account.
    fn usage(&mut self, account: &str, usage: Usage);
}

/// A visitor that ignores everything.
impl AuditVisitor for () {
    fn event(&mut self, _: &StoredEvent) {}
    fn row(&mut self, _: &str) {}
    fn unowned_usage(&mut self, _: Usage) {}
    fn usage(&mut self, _: &str, _: Usage) {}
}

/// The events of a log, one after the other.
#[derive(Debug, Default)]
pub struct Walk {
    /// The position of the last event so far.
    pub last: Position,
    versions: HashMap<StreamName, Version>,
}

impl Walk {
    /// Checks the next event, as it is stored, with its checksum.
    pub fn event(&mut self, event: &StoredEvent, stored: Option<i32>, audit: &mut Audit) {
        let StoredEvent { position, stream, version, .. } = event;
        audit.events += 1;
        audit.check(Digest::event(event), stored, Some(*position), || {
            format!("position {position} (version {version} of {stream})")
        });
        let due = self.last.next();
        if *position != due {
            audit.find("missing", Some(due), format!("position {due} is not there; {position} comes next"));
        }
        self.last = *position;
        match self.versions.get_mut(stream) {
            Some(before) => {
                let due = before.next();
                *before = *version;
                if due != *version {
                    wrong_version(event, due, audit);
                }
            }
            None => {
                self.versions.insert(stream.clone(), *version);
                if *version != Version(1) {
                    wrong_version(event, Version(1), audit);
                }
            }
        }
    }

    /// Checks that the events end at the recorded head.
    pub fn end(&self, head: Position, audit: &mut Audit) {
        if self.last != head {
            let text = format!("the log ends at {} and says that it ends at {head}", self.last);
            audit.find("missing", Some(head), text);
        }
    }
}

fn wrong_version(event: &StoredEvent, due: Version, audit: &mut Audit) {
    let StoredEvent { position, stream, version, .. } = event;
    let text = format!("position {position} is version {version} of {stream}, where {due} is due");
    audit.find("misplaced", Some(*position), text);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use plenary_kernel::TimestampMs;

    use super::*;

    fn event(position: u64, stream: &str, version: u64) -> StoredEvent {
        StoredEvent {
            position: Position(position),
            stream: StreamName::new("t.t", stream),
            version: Version(version),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: Bytes::new(),
            payload: Bytes::from_static(b"p"),
        }
    }

    fn audited(events: &[StoredEvent], head: u64) -> Audit {
        let (mut walk, mut audit) = (Walk::default(), Audit::default());
        for event in events {
            walk.event(event, Some(Digest::event(event).stored()), &mut audit);
        }
        walk.end(Position(head), &mut audit);
        audit
    }

    fn kinds(audit: &Audit) -> Vec<(&'static str, u64)> {
        audit.findings.iter().map(|found| (found.kind, found.position.map_or(0, |at| at.0))).collect()
    }

    #[test]
    fn a_log_as_it_was_written_is_sound() {
        let audit = audited(&[event(1, "a", 1), event(2, "b", 1), event(3, "a", 2)], 3);
        assert!(audit.is_sound());
        assert_eq!((audit.events, audit.unchecked), (3, 0));
    }

    #[test]
    fn gaps_and_misplaced_events_are_named() {
        assert_eq!(
            kinds(&audited(&[event(1, "a", 1), event(3, "a", 3)], 3)),
            [("missing", 2), ("misplaced", 3)]
        );
        assert_eq!(kinds(&audited(&[event(1, "a", 2), event(2, "a", 3)], 2)), [("misplaced", 1)]);
        assert_eq!(kinds(&audited(&[event(1, "a", 1)], 2)), [("missing", 2)], "the end is lost");
    }

    #[test]
    fn damage_is_named_and_what_has_no_checksum_is_counted() {
        let (mut walk, mut audit) = (Walk::default(), Audit::default());
        walk.event(&event(1, "a", 1), Some(7), &mut audit);
        walk.event(&event(2, "a", 2), None, &mut audit);
        assert_eq!((kinds(&audit), audit.unchecked), (vec![("damaged", 1)], 1));
        assert!(audit.findings[0].text.contains("version 1 of t.t/a"));
    }

    #[test]
    fn past_their_limit_findings_are_counted() {
        let mut audit = Audit::default();
        (0..FINDINGS_MAX + 5).for_each(|_| audit.find("missing", None, String::new()));
        assert_eq!((audit.findings.len(), audit.more), (FINDINGS_MAX, 5));
    }
}
