//! Ids of documents with consecutive numbers as bytes: for each id the length of the beginning that it shares with the
//! previous one, the length of the rest, and the rest. Pure.
//! Must not know: the file, projects.

use crate::lists::{read_number, write_number};

/// Most ids of one run: a search decodes a run from its beginning.
pub(crate) const RUN_IDS_MAX: u32 = 64;

/// The ids of documents with consecutive numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IdRun {
    /// The number of the first document.
    pub(crate) first: u32,
    pub(crate) bytes: Vec<u8>,
    count: u32,
    last: String,
}

impl IdRun {
    /// An empty run, whose first document will have this number.
    pub(crate) fn begin(first: u32) -> Self {
        Self { first, bytes: Vec::new(), count: 0, last: String::new() }
    }

    /// Whether a document with this number can be appended.
    pub(crate) fn takes(&self, nr: u32) -> bool {
        self.count < RUN_IDS_MAX && self.first + self.count == nr
    }

    /// Appends the id of the next document.
    pub(crate) fn push(&mut self, id: &str) {
        let shared = self.last.bytes().zip(id.bytes()).take_while(|(before, now)| before == now).count();
        let rest = &id.as_bytes()[shared..];
        for length in [shared, rest.len()] {
            write_number(&mut self.bytes, u32::try_from(length).unwrap_or(u32::MAX));
        }
        self.bytes.extend_from_slice(rest);
        self.count += 1;
        id.clone_into(&mut self.last);
    }

    /// The id at a place of a stored run, counted from 0; `None` if the run is shorter, or damaged.
    pub(crate) fn id(mut bytes: &[u8], nth: u32) -> Option<String> {
        let mut id = Vec::new();
        for _ in 0..=nth {
            let shared = usize::try_from(read_number(&mut bytes)?).ok()?;
            let length = usize::try_from(read_number(&mut bytes)?).ok()?;
            let (rest, remainder) = bytes.split_at_checked(length)?;
            if shared > id.len() {
                return None;
            }
            id.truncate(shared);
            id.extend_from_slice(rest);
            bytes = remainder;
        }
        String::from_utf8(id).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ids: &[&str]) -> IdRun {
        let mut run = IdRun::begin(5);
        ids.iter().for_each(|id| run.push(id));
        run
    }

    #[test]
    fn ids_are_read_as_they_were_written() {
        let ids = ["sessions/sess_1/9", "sessions/sess_1/10", "", "é", "è", "è"];
        let run = run(&ids);
        for (nth, id) in (0..).zip(ids) {
            assert_eq!(IdRun::id(&run.bytes, nth).as_deref(), Some(id));
        }
        assert_eq!(IdRun::id(&run.bytes, 6), None);
    }

    #[test]
    fn the_stored_form_is_frozen() {
        assert_eq!(run(&["a/9", "a/10"]).bytes, b"\x00\x03a/9\x02\x0210");
    }

    #[test]
    fn a_run_takes_consecutive_numbers_up_to_its_limit() {
        let mut run = run(&["a"]);
        assert!(run.takes(6) && !run.takes(5) && !run.takes(7));
        (1..RUN_IDS_MAX).for_each(|_| run.push("a"));
        assert!(!run.takes(5 + RUN_IDS_MAX));
    }

    #[test]
    fn a_damaged_run_has_no_id() {
        for bytes in [&b"\x00"[..], b"\x00\x05ab", b"\x01\x01a", b"\x00\x01\xff", b"\x80"] {
            assert_eq!(IdRun::id(bytes, 0), None);
        }
    }
}
