//! The interface of a reranker, which reads the first documents of a ranking together with the query, and the
//! excerpt that it
//! reads.
//! Must not know: models.

use crate::{Answer, Kind, Query, Section, parts};

/// Number of documents that are reranked, from the top.
pub const RERANKED_MAX: usize = 10;
/// Characters of a document that the reranker reads.
pub const RERANKED_CHARACTERS_MAX: usize = 1_000;

/// A reranking model. While it is unavailable, the ranking stays unchanged.
pub trait Relevance: Send + Sync + 'static {
    /// Whether to call the model: its last call succeeded, or its pause after a failure is over.
    fn works(&self) -> bool;
    /// How well each text answers the query, in the order of the texts; higher is better. A time-out is a
    /// fault.
    fn relevance<'a>(&'a self, query: &'a str, texts: Vec<String>) -> Answer<'a, Vec<f64>>;
}

/// The excerpt for the reranker: the title, and a part with its neighbours. If `part` is `None`, the part with
/// the most words
/// of the query.
pub fn telling_passage(sections: &[Section], query: &Query, part: Option<usize>) -> String {
    let parts = parts(sections);
    let best = || {
        let covered = parts.iter().map(|part| query.coverage(part.text)).enumerate();
        covered.fold((0, 0.0), |best, found| if found.1 > best.1 { found } else { best }).0
    };
    let at = part.filter(|at| *at < parts.len()).unwrap_or_else(best);
    let title = sections.iter().find(|section| section.kind == Kind::Title);
    let mut text = title.map(|title| title.text.clone()).unwrap_or_default();
    let around = [Some(at), Some(at + 1), at.checked_sub(1)];
    let mut chosen = Vec::new();
    let mut room = RERANKED_CHARACTERS_MAX.saturating_sub(text.chars().count());
    for nth in around.into_iter().flatten() {
        let Some(part) = parts.get(nth).filter(|part| part.kind != Kind::Title) else { continue };
        let length = part.text.chars().count() + 1;
        if chosen.is_empty() || length <= room {
            room = room.saturating_sub(length);
            chosen.push(nth);
        }
    }
    chosen.sort_unstable();
    for nth in chosen {
        text.push('\n');
        text.push_str(parts[nth].text);
    }
    text.trim().chars().take(RERANKED_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(title: &str, body: &str) -> Vec<Section> {
        [(Kind::Title, title), (Kind::Body, body)]
            .map(|(kind, text)| Section { kind, text: text.to_owned() })
            .to_vec()
    }

    #[test]
    fn what_is_read_is_the_title_and_the_part_with_its_neighbours() {
        let turns = "user: one\nassistant: two\nuser: three\nassistant: four";
        let query = Query::read("three").unwrap();
        let passage = |part| telling_passage(&sections("Title", turns), &query, part);
        assert_eq!(passage(None), "Title\nassistant: two\nuser: three\nassistant: four");
        assert_eq!(passage(Some(1)), "Title\nuser: one\nassistant: two");
        assert_eq!(passage(Some(99)), passage(None));
        assert_eq!(telling_passage(&[], &query, Some(0)), "");
    }

    #[test]
    fn what_is_read_has_a_limit() {
        let long = sections(&"t".repeat(40), &"word ".repeat(2_000));
        let read = telling_passage(&long, &Query::read("word").unwrap(), None);
        assert!(read.chars().count() <= RERANKED_CHARACTERS_MAX && read.chars().count() > 500);
    }
}
