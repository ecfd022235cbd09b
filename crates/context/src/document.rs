//! The current form of a package: its original bytes, with the current state if that has changed (wire.md 0.4
//! row 2).
//! Must not know: where the bytes are stored.

use crate::{
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    members::{Object, appended},
    schema::CONTENT_HASH,
};

/// A deposited package with its current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// The package as it was sent.
    pub deposited: &'a str,
    /// Its state.
    pub status: Status,
    /// The kind of reviewer.
    pub review_type: ReviewType,
}

impl Document<'_> {
    /// The package: its original bytes, except for the values of the two members that may change.
    pub fn text(&self) -> String {
        let Some(object) = Object::parse(self.deposited) else { return self.deposited.to_owned() };
        let status = format!("\"{}\"", self.status.as_str());
        let review_type = format!("\"{}\"", self.review_type.as_str());
        let is_other = |name, now: &str| {
            object.get(name).is_some_and(|was| serde_json::from_str(was).ok() != Some(unquoted(now)))
        };
        let mut values = Vec::new();
        if is_other("status", &status) {
            values.push(("status", status.as_str()));
        }
        if is_other("review_type", &review_type) {
            values.push(("review_type", review_type.as_str()));
        }
        object.with(&values)
    }
}

fn unquoted(word: &str) -> String {
    word.trim_matches('"').to_owned()
}

/// Adds the content hash as a further member (wire.md D.7).
pub fn with_hash(text: &str, hash: ContentHash) -> String {
    appended(text, CONTENT_HASH, &["\"", &hash.to_string(), "\""].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_17_ap_40_only_the_state_changes_and_every_other_byte_stays() {
        let deposited = "{ \"status\":\"draft\", \"x-a\":1.50,\n\"review_type\" : \"n\\u006fne\" }";
        let text = |status, review_type| Document { deposited, status, review_type }.text();
        assert_eq!(text(Status::Draft, ReviewType::None), deposited);
        assert_eq!(
            text(Status::AwaitingReview, ReviewType::Human),
            "{ \"status\":\"awaiting_review\", \"x-a\":1.50,\n\"review_type\" : \"human\" }"
        );
        let hash = ContentHash::of_text(deposited).unwrap();
        assert_eq!(with_hash("{\"a\":1}", hash), format!("{{\"a\":1,\"content_hash\":\"{hash}\"}}"));
    }
}
