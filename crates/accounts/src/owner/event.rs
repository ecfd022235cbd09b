//! The events of an owner's stream, and their stored form. The forms are frozen. Pure.

use serde::{Deserialize, Serialize};

use crate::{Actor, TokenDigest};

/// An event of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerEvent {
    /// The owner was created; without a token if it was created with an agent or an organisation.
    OwnerRegistered(OwnerRegistered),
    /// It got a token, and its earlier one, if any, became invalid.
    OwnerTokenSet(OwnerTokenSet),
}

/// See [`OwnerEvent::OwnerRegistered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRegistered {
    /// The creator.
    pub by: Actor,
    /// The digest of its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
}

/// See [`OwnerEvent::OwnerTokenSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerTokenSet {
    /// The cause.
    pub by: Actor,
    /// The digest of the invalid token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<TokenDigest>,
    /// The digest of the new one.
    pub new: TokenDigest,
}

plenary_engine::stored_forms!(OwnerEvent: OwnerRegistered, OwnerTokenSet);

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn stored_forms_are_frozen() {
        assert_frozen::<OwnerEvent>(&[
            (
                "OwnerRegistered",
                r#"{"by":"operator","token":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}"#,
            ),
            ("OwnerRegistered", r#"{"by":"seed"}"#),
            (
                "OwnerTokenSet",
                r#"{"by":"operator","old":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","new":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}"#,
            ),
        ]);
    }
}
