//! A query: the words of a text, combined with OR. Text of users is never query syntax.
//! Must not know: the searched documents.

use crate::{
    QUERY_BYTES_MAX, QUERY_WORDS_MAX,
    analysis::{Purpose, words},
    lexemes::CUT,
};

/// The reason why a text is not a valid query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// The text is empty.
    #[error("the query is empty")]
    Empty,
    /// The text has more than [`QUERY_BYTES_MAX`] bytes.
    #[error("the query is too long")]
    TooLong,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    text: String,
    words: Vec<String>,
}

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// If the text is empty or too long.
    pub fn read(text: &str) -> Result<Self, QueryFault> {
        if text.trim().is_empty() {
            return Err(QueryFault::Empty);
        }
        if text.len() > QUERY_BYTES_MAX {
            return Err(QueryFault::TooLong);
        }
        let mut distinct = Vec::<String>::new();
        words(text, Purpose::Query, &mut |word| {
            if distinct.len() < QUERY_WORDS_MAX && !distinct.iter().any(|known| known == word) {
                distinct.push(word.to_owned());
            }
        });
        Ok(Self { text: text.to_owned(), words: distinct })
    }

    /// The original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The distinct words, as an index has them; empty if all are stop words.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The query without the `common` words; unchanged if it has no others.
    pub fn without(&self, common: &[String]) -> Self {
        let is_common = |word: &str| common.iter().any(|other| other == word);
        let rest: Vec<String> = self.words.iter().filter(|word| !is_common(word)).cloned().collect();
        if rest.is_empty() || rest.len() == self.words.len() {
            return self.clone();
        }
        let is_distinctive = |token: &&str| {
            let (mut has_words, mut is_common_alone) = (false, true);
            words(token, Purpose::Query, &mut |word| {
                has_words = true;
                is_common_alone &= is_common(word);
            });
            !(has_words && is_common_alone)
        };
        let text: Vec<&str> = self.text.split_whitespace().filter(is_distinctive).collect();
        Self { text: text.join(" "), words: rest }
    }

    /// The query that also finds the documents of which a part is not indexed.
    pub fn or_cut(&self) -> Self {
        let cut = std::iter::once(CUT.to_owned());
        Self { text: self.text.clone(), words: self.words.iter().cloned().chain(cut).collect() }
    }

    /// How often a text has words of the query, in any form.
    pub(crate) fn count_in(&self, text: &str) -> usize {
        let mut count = 0;
        words(text, Purpose::Document, &mut |word| {
            count += usize::from(self.words.iter().any(|own| own == word));
        });
        count
    }

    /// The share of the query's words that a text has, from 0 to 1.
    pub fn coverage(&self, text: &str) -> f64 {
        if self.words.is_empty() {
            return 0.0;
        }
        let mut seen = vec![false; self.words.len()];
        words(text, Purpose::Document, &mut |word| {
            if let Some(nth) = self.words.iter().position(|own| own == word) {
                seen[nth] = true;
            }
        });
        let has = seen.iter().filter(|seen| **seen).count();
        ratio(has, seen.len())
    }
}

#[expect(clippy::cast_precision_loss, reason = "words of a query are few")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_each_word_once_and_invalid_ones_have_a_reason() {
        let query = Query::read("The logins, the LOGIN and a failing token").unwrap();
        assert_eq!(query.words(), ["login", "fail", "token"]);
        assert_eq!(Query::read(" \t\n"), Err(QueryFault::Empty));
        assert_eq!(Query::read(&"x".repeat(QUERY_BYTES_MAX + 1)), Err(QueryFault::TooLong));
        assert_eq!(Query::read("the of ???").map(|query| query.words().len()), Ok(0));
        let many: Vec<String> = (0..QUERY_WORDS_MAX + 9).map(|nth| format!("w{nth}")).collect();
        assert_eq!(Query::read(&many.join(" ")).unwrap().words().len(), QUERY_WORDS_MAX);
    }

    #[test]
    fn common_words_are_removed_unless_nothing_else_remains() {
        let query = Query::read("What did Caroline's sister (Melanie) say about pottery?").unwrap();
        let common = ["carolin", "melani", "absent"].map(str::to_owned);
        let rest = query.without(&common);
        assert_eq!(rest.text(), "What did sister say about pottery?");
        assert_eq!(rest.words(), ["sister", "say", "potteri"]);
        let names = Query::read("Caroline and Melanie").unwrap();
        assert_eq!(names.without(&common), names);
        assert_eq!(query.without(&[]), query);
    }

    #[test]
    fn coverage_counts_words_whatever_their_form() {
        let query = Query::read("fix failing logins").unwrap();
        assert!((query.coverage("Login fails; fixed.") - 1.0).abs() < 1e-9);
        assert!((query.coverage("The login page") - 1.0 / 3.0).abs() < 1e-9);
        assert!(query.coverage("nothing of it") < 1e-9);
    }
}
