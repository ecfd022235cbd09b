//! The partial text of each thread after its last event, within limits, for readers that arrive before it is
//! complete.
//! Must not know: the readers.

use std::collections::HashMap;

use crate::{
    deltas::RunDelta,
    id::{RunId, ThreadId},
    limits::{PARTIAL_TEXT_BYTES_MAX, PARTIAL_TEXTS_MAX},
};

/// The unfinished text of each thread.
#[derive(Debug, Default)]
pub(crate) struct PartialTexts {
    threads: HashMap<ThreadId, (u64, RunDelta)>,
    /// A counter of the texts; the lowest number is the oldest text.
    last_number: u64,
}

impl PartialTexts {
    /// Adds a piece. A text that exceeds the limit is dropped as a whole.
    pub(crate) fn add(&mut self, piece: &RunDelta) {
        match self.threads.get_mut(&piece.thread) {
            Some((_, partial)) if (partial.run, partial.after) == (piece.run, piece.after) => {
                let bytes = partial.text.len() + piece.text.len();
                match bytes <= PARTIAL_TEXT_BYTES_MAX && !partial.text.is_empty() {
                    true => partial.text.push_str(&piece.text),
                    // Without its beginning the text is of no use.
                    false => partial.text = String::new(),
                }
            }
            Some(_) | None => self.begin(piece),
        }
    }

    fn begin(&mut self, piece: &RunDelta) {
        if self.threads.len() >= PARTIAL_TEXTS_MAX
            && !self.threads.contains_key(&piece.thread)
            && let Some(oldest) =
                self.threads.iter().min_by_key(|(_, (number, _))| *number).map(|(thread, _)| *thread)
        {
            self.threads.remove(&oldest);
        }
        self.last_number += 1;
        self.threads.insert(piece.thread, (self.last_number, piece.clone()));
    }

    /// The unfinished text of a thread.
    pub(crate) fn get(&self, thread: ThreadId) -> Option<&RunDelta> {
        self.threads.get(&thread).map(|(_, delta)| delta).filter(|delta| !delta.text.is_empty())
    }

    /// Removes the text of a run that is over.
    pub(crate) fn end(&mut self, thread: ThreadId, run: RunId) {
        if self.threads.get(&thread).is_some_and(|(_, delta)| delta.run == run) {
            self.threads.remove(&thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};

    use super::*;

    fn delta(thread: u64, after: u64, text: &str) -> RunDelta {
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

    fn partial_text(texts: &PartialTexts, delta: &RunDelta) -> Option<String> {
        texts.get(delta.thread).map(|delta| delta.text.clone())
    }

    #[test]
    fn sc_12_text_is_kept_until_the_next_event_or_the_end() {
        let mut texts = PartialTexts::default();
        let piece = delta(1, 1, "a");
        assert_eq!(partial_text(&texts, &piece), None);
        texts.add(&piece);
        texts.add(&delta(1, 1, "b"));
        assert_eq!(partial_text(&texts, &piece).as_deref(), Some("ab"));
        texts.add(&delta(1, 2, "c"));
        assert_eq!(partial_text(&texts, &piece).as_deref(), Some("c"), "behind the event");
        texts.end(piece.thread, delta(2, 1, "").run);
        assert_eq!(partial_text(&texts, &piece).as_deref(), Some("c"), "another run ended");
        texts.end(piece.thread, piece.run);
        assert_eq!(partial_text(&texts, &piece), None);
    }

    #[test]
    fn past_its_limits_text_is_kept_no_more() {
        let mut texts = PartialTexts::default();
        let long = delta(1, 1, &"x".repeat(PARTIAL_TEXT_BYTES_MAX));
        texts.add(&long);
        assert!(partial_text(&texts, &long).is_some());
        texts.add(&delta(1, 1, "y"));
        texts.add(&delta(1, 1, "z"));
        assert_eq!(partial_text(&texts, &long), None, "and not from its middle");
        for thread in 0..=u64::try_from(PARTIAL_TEXTS_MAX).unwrap() {
            texts.add(&delta(2 + thread, 1, "a"));
        }
        assert_eq!(texts.threads.len(), PARTIAL_TEXTS_MAX);
        assert_eq!(partial_text(&texts, &delta(2, 1, "")), None, "the oldest went");
        assert_eq!(partial_text(&texts, &delta(3, 1, "")).as_deref(), Some("a"));
    }
}
