//! The partial text of each thread after its last event, within limits, for readers that arrive before it is
//! complete.
//! Must not know: the readers.

use std::collections::HashMap;

use crate::{
    deltas::RunDelta,
    id::{RunId, ThreadId},
    limits::{MAKING_BYTES_MAX, MAKING_THREADS_MAX},
};

/// The unfinished text of each thread.
#[derive(Debug, Default)]
pub(crate) struct PartialTexts {
    threads: HashMap<ThreadId, (u64, RunDelta)>,
    /// A counter of the texts; the lowest number is the oldest text.
    begun: u64,
}

impl PartialTexts {
    /// Adds a piece. A text that exceeds the limit is dropped as a whole.
    pub(crate) fn add(&mut self, piece: &RunDelta) {
        match self.threads.get_mut(&piece.thread) {
            Some((_, so_far)) if (so_far.run, so_far.after) == (piece.run, piece.after) => {
                let bytes = so_far.text.len() + piece.text.len();
                match bytes <= MAKING_BYTES_MAX && !so_far.text.is_empty() {
                    true => so_far.text.push_str(&piece.text),
                    // Without its beginning the text is of no use.
                    false => so_far.text = String::new(),
                }
            }
            Some(_) | None => self.begin(piece),
        }
    }

    fn begin(&mut self, piece: &RunDelta) {
        if self.threads.len() >= MAKING_THREADS_MAX
            && !self.threads.contains_key(&piece.thread)
            && let Some(oldest) =
                self.threads.iter().min_by_key(|(_, (begun, _))| *begun).map(|(thread, _)| *thread)
        {
            self.threads.remove(&oldest);
        }
        self.begun += 1;
        self.threads.insert(piece.thread, (self.begun, piece.clone()));
    }

    /// The unfinished text of a thread.
    pub(crate) fn of(&self, thread: ThreadId) -> Option<&RunDelta> {
        self.threads.get(&thread).map(|(_, shown)| shown).filter(|shown| !shown.text.is_empty())
    }

    /// Removes the text of a run that is over.
    pub(crate) fn end(&mut self, thread: ThreadId, run: RunId) {
        if self.threads.get(&thread).is_some_and(|(_, shown)| shown.run == run) {
            self.threads.remove(&thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};

    use super::*;

    fn shown(thread: u64, after: u64, text: &str) -> RunDelta {
        let stamp = Stamp::new(TimestampMs(thread), [0; 10]);
        RunDelta {
            thread: ThreadId::mint(&stamp, 1),
            run: RunId::mint(&stamp, 0),
            agent: "a".into(),
            depth: 0,
            after,
            text: text.into(),
        }
    }

    fn so_far(making: &PartialTexts, of: &RunDelta) -> Option<String> {
        making.of(of.thread).map(|shown| shown.text.clone())
    }

    #[test]
    fn sc_12_text_is_kept_until_the_next_event_or_the_end() {
        let mut making = PartialTexts::default();
        let piece = shown(1, 1, "a");
        assert_eq!(so_far(&making, &piece), None);
        making.add(&piece);
        making.add(&shown(1, 1, "b"));
        assert_eq!(so_far(&making, &piece).as_deref(), Some("ab"));
        making.add(&shown(1, 2, "c"));
        assert_eq!(so_far(&making, &piece).as_deref(), Some("c"), "behind the event");
        making.end(piece.thread, shown(2, 1, "").run);
        assert_eq!(so_far(&making, &piece).as_deref(), Some("c"), "another run ended");
        making.end(piece.thread, piece.run);
        assert_eq!(so_far(&making, &piece), None);
    }

    #[test]
    fn past_its_limits_text_is_kept_no_more() {
        let mut making = PartialTexts::default();
        let long = shown(1, 1, &"x".repeat(MAKING_BYTES_MAX));
        making.add(&long);
        assert!(so_far(&making, &long).is_some());
        making.add(&shown(1, 1, "y"));
        making.add(&shown(1, 1, "z"));
        assert_eq!(so_far(&making, &long), None, "and not from its middle");
        for thread in 0..=u64::try_from(MAKING_THREADS_MAX).unwrap() {
            making.add(&shown(2 + thread, 1, "a"));
        }
        assert_eq!(making.threads.len(), MAKING_THREADS_MAX);
        assert_eq!(so_far(&making, &shown(2, 1, "")), None, "the oldest went");
        assert_eq!(so_far(&making, &shown(3, 1, "")).as_deref(), Some("a"));
    }
}
