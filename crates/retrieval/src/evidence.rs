//! How many of a query's words stand together in one place of a document, among the documents that it competes with.
//! Must not know: how the documents were found.

use crate::{
    Kind, QUERY_WORDS_MAX, Query, Section,
    analysis::{Purpose, words},
    parts::all_parts,
};

/// Which words of a query a text has, a bit for each.
type Words = u64;
const _: () = assert!(QUERY_WORDS_MAX == 64, "a bit for each word");

/// Documents that compete for a query.
#[derive(Debug)]
pub struct Evidence<'a> {
    query: &'a Query,
    /// For each document the words of each passage.
    documents: Vec<Vec<Words>>,
}

impl<'a> Evidence<'a> {
    /// For no document yet.
    #[must_use]
    pub fn new(query: &'a Query) -> Self {
        Self { query, documents: Vec::new() }
    }

    /// One document more.
    pub fn add(&mut self, sections: &[Section]) {
        self.documents.push(passages(self.query, sections));
    }

    /// For each document, in their order, what part of the query's words its best passage has, from 0 to 1. What few
    /// passages of all these documents have counts most. A title belongs to each passage; a long document is not better
    /// for having more of them.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let count = |nth: usize| self.documents.iter().flatten().filter(|words| has(**words, nth)).count();
        let all = self.documents.iter().map(Vec::len).sum();
        let weights: Vec<f64> = (0..self.query.words().len()).map(|nth| rarity(count(nth), all)).collect();
        let whole: f64 = weights.iter().sum();
        let worth = |words: Words| {
            let found = weights.iter().enumerate().filter(|(nth, _)| has(words, *nth));
            found.map(|(_, weight)| weight).sum::<f64>()
        };
        let best = |words: &Vec<Words>| words.iter().map(|words| worth(*words)).fold(0.0, f64::max);
        self.documents.iter().map(|words| if whole > 0.0 { best(words) / whole } else { 0.0 }).collect()
    }
}

fn has(words: Words, nth: usize) -> bool {
    words >> nth & 1 == 1
}

/// The words of each passage, with those of the title.
fn passages(query: &Query, sections: &[Section]) -> Vec<Words> {
    let title = sections.iter().filter(|section| section.kind == Kind::Title);
    let title = title.fold(0, |title, section| title | found(query, &section.text));
    all_parts(sections).map(|text| title | found(query, text)).collect()
}

fn found(query: &Query, text: &str) -> Words {
    let mut found = 0;
    words(text, Purpose::Document, &mut |word| {
        if let Some(nth) = query.words().iter().position(|wanted| wanted == word) {
            found |= 1 << nth;
        }
    });
    found
}

/// As BM25 has it: above 0, and the more the fewer passages have a word.
#[expect(clippy::cast_precision_loss, reason = "passages of some documents are few")]
fn rarity(has: usize, of: usize) -> f64 {
    (1.0 + ((of - has) as f64 + 0.5) / (has as f64 + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, body: &str) -> Vec<Section> {
        let section = |kind, text: &str| Section { kind, text: text.to_owned() };
        vec![section(Kind::Title, title), section(Kind::Body, body)]
    }

    fn of(query: &str, documents: &[Vec<Section>]) -> Vec<f64> {
        let query = Query::read(query).unwrap();
        let mut evidence = Evidence::new(&query);
        documents.iter().for_each(|sections| evidence.add(sections));
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
        let found = of("locked red door", &documents);
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[2] - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found[1] > 0.0 && found[1] < 1.0 && found[3] == 0.0, "{found:?}");
    }

    #[test]
    fn a_rare_word_counts_more_than_a_common_one() {
        let mut documents = vec![document("", "the weather in Oslo"), document("", "Akerselva")];
        documents.extend((0..8).map(|_| document("", "weather")));
        let found = of("weather akerselva", &documents);
        assert!(found[1] > 2.0 * found[0] && found[0] > 0.0, "{found:?}");
        assert_eq!(of("the of", &documents), vec![0.0; documents.len()]);
        assert!(of("weather", &[]).is_empty());
    }
}
