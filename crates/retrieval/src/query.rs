//! What is looked for: the words of a text, any of them. Text of users is never query syntax.
//! Must not know: what is searched.

use crate::{
    QUERY_OCTETS_MAX, QUERY_WORDS_MAX,
    analysis::{Purpose, words},
};

/// Why a text is no query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// It says nothing.
    #[error("the query is empty")]
    Empty,
    /// It has more than [`QUERY_OCTETS_MAX`] bytes.
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
    /// When there is no text, or too much of it.
    pub fn read(text: &str) -> Result<Self, QueryFault> {
        if text.trim().is_empty() {
            return Err(QueryFault::Empty);
        }
        if text.len() > QUERY_OCTETS_MAX {
            return Err(QueryFault::TooLong);
        }
        let mut wanted = Vec::<String>::new();
        words(text, Purpose::Query, &mut |word| {
            if wanted.len() < QUERY_WORDS_MAX && !wanted.iter().any(|known| known == word) {
                wanted.push(word.to_owned());
            }
        });
        Ok(Self { text: text.to_owned(), words: wanted })
    }

    /// The text as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its words as they stand in an index, each once; none where it has only words that say nothing.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// What part of its words a text has, from 0 to 1.
    #[must_use]
    pub fn coverage(&self, text: &str) -> f64 {
        if self.words.is_empty() {
            return 0.0;
        }
        let mut seen = vec![false; self.words.len()];
        words(text, Purpose::Document, &mut |word| {
            if let Some(nth) = self.words.iter().position(|wanted| wanted == word) {
                seen[nth] = true;
            }
        });
        let has = seen.iter().filter(|seen| **seen).count();
        ratio(has, seen.len())
    }
}

#[expect(clippy::cast_precision_loss, reason = "words of a query are few")]
fn ratio(has: usize, of: usize) -> f64 {
    has as f64 / of as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_its_words_once_and_says_why_it_is_none() {
        let query = Query::read("The logins, the LOGIN and a failing token").unwrap();
        assert_eq!(query.words(), ["login", "fail", "token"]);
        assert_eq!(Query::read(" \t\n"), Err(QueryFault::Empty));
        assert_eq!(Query::read(&"x".repeat(QUERY_OCTETS_MAX + 1)), Err(QueryFault::TooLong));
        assert_eq!(Query::read("the of ???").map(|query| query.words().len()), Ok(0));
        let many: Vec<String> = (0..QUERY_WORDS_MAX + 9).map(|nth| format!("w{nth}")).collect();
        assert_eq!(Query::read(&many.join(" ")).unwrap().words().len(), QUERY_WORDS_MAX);
    }

    #[test]
    fn coverage_counts_words_whatever_their_form() {
        let query = Query::read("fix failing logins").unwrap();
        assert!((query.coverage("Login fails; fixed.") - 1.0).abs() < 1e-9);
        assert!((query.coverage("The login page") - 1.0 / 3.0).abs() < 1e-9);
        assert!(query.coverage("nothing of it") < 1e-9);
    }
}
