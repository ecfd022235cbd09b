//! Scores the documents that compete for a query: similarity in meaning, the share of the query's words, and
//! the match
//! with a time that the query names (docs/decisions/0012). Pure.
//! Must not know: how the documents were found.

use std::collections::HashMap;

use crate::{
    Query, Section,
    evidence::Evidence,
    when::{When, day},
};

/// The weights of meaning, of the query's words in the best passage, and of those in the whole document.
/// Similar weights
/// gave results as good.
const MEANING_SHARE: f64 = 0.63;
const PASSAGE_SHARE: f64 = 0.12;
const WHOLE_SHARE: f64 = 0.25;
/// The additional weight of closeness, where it is known: the similarity of each query word to the most similar
/// word of a
/// document.
const CLOSENESS_SHARE: f64 = 0.6;
/// The additional weight of a match with a time in the query.
const TIME_SHARE: f64 = 0.05;

/// The score of a document and its components.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// The weighted sum.
    pub total: f64,
    /// The query's words in the document, from 0 to 1.
    pub words: f64,
    /// Similarity in meaning, from 0 to 1; `None` without a model.
    pub meaning: Option<f64>,
    /// The match of the document's date with the time in the query, from 0 to 1; `None` if the query names no
    /// time.
    pub date: Option<f64>,
}

/// The documents that compete for a query.
#[derive(Debug)]
pub struct Competition<'a> {
    query: &'a Query,
    evidence: Evidence<'a>,
    created_ms: Vec<i64>,
}

impl<'a> Competition<'a> {
    /// Without documents at first.
    pub fn new(query: &'a Query) -> Self {
        Self { query, evidence: Evidence::new(query), created_ms: Vec::new() }
    }

    /// Adds a document: its sections, and its creation time in milliseconds since 1970.
    pub fn add(&mut self, sections: &[Section], created_ms: i64) {
        self.evidence.add(sections, &day(created_ms));
        self.created_ms.push(created_ms);
    }

    /// The rarity of each query word among the documents, above 0.
    pub fn rarities(&self) -> HashMap<String, f64> {
        self.query.words().iter().cloned().zip(self.evidence.rarities()).collect()
    }

    /// The score of each document, in the order of `add`. `meaning` has the similarity of each in the same
    /// order, and is empty
    /// without a model. `closeness` has the similarity of the query's words to those of each document, where it
    /// is known.
    pub fn scores(&self, meaning: &[f64], closeness: &[Option<f64>]) -> Vec<Score> {
        let when = When::read(self.query.text());
        let newest = self.created_ms.iter().copied().max().unwrap_or_default();
        let (share, meaning) = understood(meaning, closeness);
        let scored = self.created_ms.iter().zip(self.evidence.shares()).enumerate().map(
            |(nth, (created, share_of))| {
                let words = (PASSAGE_SHARE * share_of.passage + WHOLE_SHARE * share_of.whole)
                    / (PASSAGE_SHARE + WHOLE_SHARE);
                let date = when.map(|when| when.fit(*created, newest));
                let meaning = meaning.get(nth).copied();
                let by_meaning = |meaning: f64| share * meaning + (1.0 - share) * words;
                let total = meaning.map_or(words, by_meaning) + TIME_SHARE * date.unwrap_or_default();
                Score { total, words, meaning, date }
            },
        );
        scored.collect()
    }
}

/// The weight of meaning, and the meaning of each document: combined with closeness if that is known for any
/// document.
/// Documents without it get the average difference between closeness and meaning of the others.
fn understood(meaning: &[f64], closeness: &[Option<f64>]) -> (f64, Vec<f64>) {
    let known = meaning.iter().zip(closeness).filter_map(|(meaning, close)| Some((*close)? - meaning));
    let (count, sum) = known.fold((0.0, 0.0), |(count, sum), more| (count + 1.0, sum + more));
    if count == 0.0 {
        return (MEANING_SHARE, meaning.to_vec());
    }
    let usual = sum / count;
    let together = MEANING_SHARE + CLOSENESS_SHARE;
    let mixed = meaning.iter().enumerate().map(|(nth, meaning)| {
        let close = closeness.get(nth).copied().flatten().unwrap_or(meaning + usual);
        (MEANING_SHARE * meaning + CLOSENESS_SHARE * close) / together
    });
    (together / (1.0 + CLOSENESS_SHARE), mixed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn scores(query: &str, documents: &[(&str, i64)], meaning: &[f64]) -> Vec<Score> {
        let query = Query::read(query).unwrap();
        let mut competition = Competition::new(&query);
        for (text, created_ms) in documents {
            competition.add(&[Section { kind: Kind::Body, text: (*text).to_owned() }], *created_ms);
        }
        competition.scores(meaning, &[])
    }

    #[test]
    fn meaning_counts_more_than_words_and_without_it_words_are_all() {
        let documents = [("a red door", 0), ("a crimson gate", 0)];
        let found = scores("red door", &documents, &[0.1, 0.9]);
        assert!(found[1].total > found[0].total && found[0].words > found[1].words, "{found:?}");
        let found = scores("red door", &documents, &[]);
        assert!((found[0].total - found[0].words).abs() < 1e-9 && found[1].total == 0.0, "{found:?}");
    }

    #[test]
    fn the_day_counts_where_the_query_names_one() {
        let may = plenary_kernel::rfc3339::parse("2023-05-07T12:00:00Z").unwrap();
        let documents = [("a red door", may), ("a red door", may + 90 * 86_400_000)];
        let found = scores("red door on 7 May 2023", &documents, &[]);
        assert!(found[0].total > found[1].total && found[0].date > found[1].date, "{found:?}");
        assert_eq!(scores("red door", &documents, &[])[0].date, None);
    }

    #[test]
    fn closeness_of_words_counts_where_it_is_known() {
        let (share, meaning) = understood(&[0.2, 0.4, 0.3], &[Some(0.6), None, Some(0.9)]);
        assert!(share > MEANING_SHARE && share < 1.0, "{share}");
        // The others are closer by 0.5 than they are alike, so this one counts as 0.9.
        let expected = (MEANING_SHARE * 0.4 + CLOSENESS_SHARE * 0.9) / (MEANING_SHARE + CLOSENESS_SHARE);
        assert!((meaning[1] - expected).abs() < 1e-9 && meaning[2] > meaning[0], "{meaning:?}");
        assert_eq!(understood(&[0.2], &[None]), (MEANING_SHARE, vec![0.2]));
        let query = Query::read("red door").unwrap();
        let mut competition = Competition::new(&query);
        for text in ["a red gate", "a red door", "a red fence"] {
            competition.add(&[Section { kind: Kind::Body, text: text.to_owned() }], 0);
        }
        let rare = competition.rarities();
        assert!(rare["door"] > rare["red"] && rare["red"] > 0.0, "{rare:?}");
        let found = competition.scores(&[0.5; 3], &[Some(0.9), Some(0.2), None]);
        assert!(found[0].meaning > found[2].meaning && found[2].meaning > found[1].meaning, "{found:?}");
    }
}
