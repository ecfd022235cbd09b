//! Scores how many of a query's words a document has, in one passage and in total, relative to the competing
//! documents.
//! Must not know: how the documents were found.

use crate::{
    Kind, QUERY_WORDS_MAX, Query, Section,
    analysis::{Purpose, words},
    parts::all_parts,
};

/// The words of a query that a text has, one bit each.
type Words = u64;
const _: () = assert!(QUERY_WORDS_MAX == 64, "a bit for each word");
/// The usual constants of BM25: k1, after how many occurrences a word adds little, and b, how strongly length
/// counts.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.75;

/// The documents that compete for a query.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    query: &'a Query,
    documents: Vec<Document>,
}

/// The counts of one document.
#[derive(Debug, Default)]
struct Document {
    /// The query words in each passage.
    passages: Vec<Words>,
    /// The number of occurrences of each query word.
    counts: Vec<usize>,
    /// The number of words of the document.
    length: usize,
}

/// The share of a query's words that a document has, from 0 to 1, weighted by their rarity among the competing
/// documents.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Share {
    /// In its best passage; a long document gains nothing from its length.
    pub(crate) passage: f64,
    /// In the whole document: the BM25 score divided by the highest possible one.
    pub(crate) whole: f64,
}

impl<'a> Evidence<'a> {
    /// Without documents at first.
    pub(crate) fn new(query: &'a Query) -> Self {
        Self { query, documents: Vec::new() }
    }

    /// Adds a document. `known` is text about it that it need not contain, such as its date. Title and `known`
    /// count as part
    /// of each passage.
    pub(crate) fn add(&mut self, sections: &[Section], known: &str) {
        let mut document = Document { counts: vec![0; self.query.words().len()], ..Document::default() };
        let mut everywhere = found(self.query, known, &mut |_| {});
        for title in sections.iter().filter(|section| section.kind == Kind::Title) {
            everywhere |= found(self.query, &title.text, &mut |_| {});
        }
        for text in all_parts(sections) {
            let passage = found(self.query, text, &mut |nth| {
                document.length += 1;
                if let Some(count) = nth.and_then(|nth| document.counts.get_mut(nth)) {
                    *count += 1;
                }
            });
            document.passages.push(everywhere | passage);
        }
        self.documents.push(document);
    }

    /// The share of each document, in the order of `add`.
    pub(crate) fn shares(&self) -> Vec<Share> {
        let (passages, wholes) = (self.of_passages(), self.of_wholes());
        passages.into_iter().zip(wholes).map(|(passage, whole)| Share { passage, whole }).collect()
    }

    /// The rarity of each query word among the documents, above 0, in the order of the words.
    pub(crate) fn rarities(&self) -> Vec<f64> {
        let has = |nth: usize| self.documents.iter().filter(|document| document.counts[nth] > 0).count();
        (0..self.query.words().len()).map(|nth| rarity(has(nth), self.documents.len())).collect()
    }

    fn of_passages(&self) -> Vec<f64> {
        let passages = || self.documents.iter().flat_map(|document| &document.passages);
        let weights =
            self.weights(passages().count(), |nth| passages().filter(|words| has(**words, nth)).count());
        let worth = |words: &Words| {
            let found = weights.iter().enumerate().filter(|(nth, _)| has(*words, *nth));
            found.map(|(_, weight)| weight).sum::<f64>()
        };
        let best = |document: &Document| document.passages.iter().map(worth).fold(0.0, f64::max);
        self.documents.iter().map(best).collect()
    }

    fn of_wholes(&self) -> Vec<f64> {
        let count = self.documents.len();
        let weights = self
            .weights(count, |nth| self.documents.iter().filter(|document| document.counts[nth] > 0).count());
        let usual = ratio(self.documents.iter().map(|document| document.length).sum(), count);
        let worth = |document: &Document| {
            let long = if usual > 0.0 { ratio(document.length, 1) / usual } else { 1.0 };
            let slow = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * long);
            let words = document.counts.iter().zip(&weights).filter(|(count, _)| **count > 0);
            words.map(|(count, weight)| weight * ratio(*count, 1) / (ratio(*count, 1) + slow)).sum::<f64>()
        };
        self.documents.iter().map(worth).collect()
    }

    /// The weight of each word; the weights add up to 1. `has` gives how many of `all` have a word.
    fn weights(&self, all: usize, has: impl Fn(usize) -> usize) -> Vec<f64> {
        let rare: Vec<f64> = (0..self.query.words().len()).map(|nth| rarity(has(nth), all)).collect();
        let whole: f64 = rare.iter().sum();
        rare.into_iter().map(|weight| weight / whole).collect()
    }
}

fn has(words: Words, nth: usize) -> bool {
    words >> nth & 1 == 1
}

/// The query words that a text has. Calls `visit` for each word of the text, with its index in the query if it
/// is in there.
fn found(query: &Query, text: &str, visit: &mut dyn FnMut(Option<usize>)) -> Words {
    let mut found = 0;
    words(text, Purpose::Document, &mut |word| {
        let nth = query.words().iter().position(|own| own == word);
        if let Some(nth) = nth {
            found |= 1 << nth;
        }
        visit(nth);
    });
    found
}

/// The inverse document frequency of BM25: above 0, and higher for rarer words.
fn rarity(has: usize, total: usize) -> f64 {
    (1.0 + (ratio(total - has, 1) + 0.5) / (ratio(has, 1) + 0.5)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "words of some documents are few")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, body: &str) -> Vec<Section> {
        let section = |kind, text: &str| Section { kind, text: text.to_owned() };
        vec![section(Kind::Title, title), section(Kind::Body, body)]
    }

    fn of(query: &str, documents: &[Vec<Section>]) -> Vec<Share> {
        let query = Query::read(query).unwrap();
        let mut evidence = Evidence::new(&query);
        documents.iter().for_each(|sections| evidence.add(sections, "in May"));
        evidence.shares()
    }

    #[test]
    fn words_count_where_they_stand_together() {
        let documents = [
            document("", "user: the red door is locked\nassistant: good"),
            document("", "user: the red car\nassistant: a door that is locked"),
            document("Red door", "user: it is locked\nassistant: so it is"),
            document("", "nothing of it"),
        ];
        let found: Vec<f64> = of("locked red door", &documents).iter().map(|share| share.passage).collect();
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[2] - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found[1] > 0.0 && found[1] < 1.0 && found[3] == 0.0, "{found:?}");
        assert!((of("may", &documents)[3].passage - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_rare_word_counts_more_than_a_common_one() {
        let mut documents = vec![document("", "the weather in Oslo"), document("", "Akerselva")];
        documents.extend((0..8).map(|_| document("", "weather")));
        let found = of("weather akerselva", &documents);
        assert!(found[1].passage > 2.0 * found[0].passage && found[0].passage > 0.0, "{found:?}");
        assert!(found[1].whole > 2.0 * found[0].whole && found[0].whole > 0.0, "{found:?}");
        assert_eq!(of("the of", &documents), vec![Share::default(); documents.len()]);
        assert!(of("weather", &[]).is_empty());
    }

    #[test]
    fn of_the_whole_more_places_and_less_else_count_more_and_never_all() {
        let documents = ["red", "red\n\nred red", "red and much else of which nobody asks here"]
            .map(|body| document("", body));
        let found: Vec<f64> = of("red", &documents).iter().map(|share| share.whole).collect();
        assert!(found[1] > found[0] && found[0] > found[2] && found[2] > 0.0 && found[1] < 1.0, "{found:?}");
    }
}
