//! The items of one search that compete in the ranking: those that the filter admits, as far as the limits of items and of
//! bytes go. Pure.
//! Must not know: the source of the items.

use plenary_retrieval::{Score, Section};
use plenary_room::FoundItem;

use crate::{ITEM_BYTES_MAX, RANKED_BYTES_MAX, RANKED_MAX, READ_BYTES_MAX, request::SearchFilter};

/// An item that competes in the ranking.
pub(crate) struct Candidate {
    pub(crate) id: String,
    pub(crate) room: &'static str,
    pub(crate) item: FoundItem,
    pub(crate) score: Score,
}

/// The candidates so far.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) candidates: Vec<Candidate>,
    /// The bytes of the candidates' text.
    ranked_bytes: usize,
    /// The bytes of all text that was read.
    read_bytes: usize,
}

impl Selection {
    /// Adds an item if the filter admits it. Of a long item only the beginning competes, so that a few long items leave
    /// room for others.
    pub(crate) fn add(&mut self, filter: &SearchFilter, mut candidate: Candidate) {
        self.read_bytes += bytes(&candidate.item.sections);
        if admits(filter, &candidate.item) {
            truncate(&mut candidate.item.sections);
            self.ranked_bytes += bytes(&candidate.item.sections);
            self.candidates.push(candidate);
        }
    }

    /// Whether there are as many candidates as a search ranks.
    pub(crate) fn is_full(&self) -> bool {
        self.candidates.len() >= RANKED_MAX
    }

    /// Whether the limits of bytes end the search.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.ranked_bytes >= RANKED_BYTES_MAX || self.read_bytes >= READ_BYTES_MAX
    }
}

fn bytes(sections: &[Section]) -> usize {
    sections.iter().map(|section| section.text.len()).sum()
}

/// Cuts the text of an item to its limit.
fn truncate(sections: &mut [Section]) {
    let mut remaining = ITEM_BYTES_MAX;
    for Section { text, .. } in sections {
        if text.len() > remaining {
            let mut end = remaining;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.shrink_to_fit();
        }
        remaining -= text.len();
    }
}

/// Whether an item matches the filters for author and time.
fn admits(filter: &SearchFilter, item: &FoundItem) -> bool {
    let is_in_time = filter.since_ms.is_none_or(|since| item.at_ms >= since)
        && filter.until_ms.is_none_or(|until| item.at_ms < until);
    is_in_time
        && filter.author.as_ref().is_none_or(|author| {
            let author = author.to_string();
            // A free name may lack the leading `@` or `~`.
            item.by.as_deref().is_some_and(|by| by == author || author.get(1..) == Some(by))
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use plenary_room::{Reference, body};

    use super::*;

    pub(crate) fn candidate(by: &str, at_ms: i64, text: &str) -> Candidate {
        let item = FoundItem {
            kind: "message",
            path: "/x".to_owned(),
            reference: Reference::default(),
            about: None,
            by: Some(by.to_owned()),
            at_ms,
            sections: body(text.to_owned()),
        };
        Candidate { id: at_ms.to_string(), room: "sessions", item, score: Score::default() }
    }

    pub(crate) fn filter(query: &[(&str, &str)]) -> SearchFilter {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        SearchFilter::read(&pairs).unwrap()
    }

    #[test]
    fn a_filter_admits_author_and_time() {
        let admits = |filter: &SearchFilter, by, at_ms| admits(filter, &candidate(by, at_ms, "red").item);
        let by_author = filter(&[("q", "red"), ("who", "@nick.bot")]);
        assert!(admits(&by_author, "@nick.bot", 0) && admits(&by_author, "nick.bot", 0));
        assert!(!admits(&by_author, "@nick.other", 0) && !admits(&by_author, "", 0));
        let by_time = filter(&[("q", "red"), ("since", "1970-01-02"), ("until", "1970-01-02")]);
        let day = 24 * 60 * 60 * 1_000;
        let admits_at = |at_ms| admits(&by_time, "@nick.bot", at_ms);
        assert!(!admits_at(day - 1) && admits_at(day) && admits_at(2 * day - 1) && !admits_at(2 * day));
    }

    #[test]
    fn long_items_of_others_do_not_hide_those_of_an_author() {
        let by_author = filter(&[("q", "red"), ("who", "@nick.bot")]);
        let long = "red ".repeat(ITEM_BYTES_MAX);
        let mut selection = Selection::default();
        for nth in 0..10 {
            selection.add(&by_author, candidate("@eve.bot", nth, &long));
        }
        assert!(!selection.is_exhausted());
        selection.add(&by_author, candidate("@nick.bot", 10, "red"));
        assert_eq!(selection.candidates.len(), 1);
        while !selection.is_exhausted() {
            selection.add(&by_author, candidate("@eve.bot", 11, &long));
        }
        assert!(!selection.is_full() && selection.read_bytes < READ_BYTES_MAX + long.len());
    }

    #[test]
    fn of_a_long_item_the_beginning_competes() {
        let all = filter(&[("q", "red")]);
        let text = format!("a{}", "ä".repeat(ITEM_BYTES_MAX));
        let mut selection = Selection::default();
        selection.add(&all, candidate("@a.b", 0, &text));
        assert_eq!(bytes(&selection.candidates[0].item.sections), ITEM_BYTES_MAX - 1, "no character is cut");
        for nth in 1..=RANKED_BYTES_MAX / ITEM_BYTES_MAX {
            assert!(!selection.is_exhausted(), "{nth}");
            selection.add(&all, candidate("@a.b", 0, &text));
        }
        assert!(selection.is_exhausted() && !selection.is_full());
    }
}
