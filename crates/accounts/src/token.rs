//! Bearer tokens: how they are made, and the digest that is all anybody keeps of one (wire.md D.1).
//! Must not know: whose a token is.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::limits::{TOKEN_OCTETS_MAX, TOKEN_OCTETS_MIN};

/// SHA-256 of a token. What is stored, compared and logged instead of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenDigest(Proof);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Proof {
    Digest([u8; 32]),
    /// No token: this process acts for an agent that it runs. No bytes of a peer ever become this.
    Inside,
}

impl TokenDigest {
    /// What this process acts with for the agents that it runs: whoever is there accepts it, and no token has it.
    pub(crate) const INSIDE: Self = Self(Proof::Inside);

    /// The digest of a token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Proof::Digest(plenary_kernel::json::digest(token.as_bytes())))
    }
    /// Whether this process acts by itself.
    pub(crate) fn is_inside(&self) -> bool {
        self.0 == Proof::Inside
    }
    /// The digest itself, where it is one of a token.
    pub(crate) fn octets(&self) -> Option<&[u8; 32]> {
        match &self.0 {
            Proof::Digest(octets) => Some(octets),
            Proof::Inside => None,
        }
    }
    /// The same of 64 hex digits.
    pub(crate) fn of_hex(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest).ok()?;
        Some(Self(Proof::Digest(digest)))
    }
    /// 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        match &self.0 {
            Proof::Digest(octets) => hex::encode(octets),
            Proof::Inside => "inside".into(),
        }
    }
    /// Compares in a time that does not depend on where the two differ.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Proof::Digest(a), Proof::Digest(b)) => {
                a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
            }
            (Proof::Inside, _) | (_, Proof::Inside) => false,
        }
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Proof::Digest(octets) => write!(f, "sha256:{}…", hex::encode(&octets[..4])),
            Proof::Inside => f.write_str("inside"),
        }
    }
}

impl Serialize for TokenDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for TokenDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::of_hex(&text).ok_or_else(|| D::Error::custom("it is no digest"))
    }
}

/// Whose a token is, by its prefix; a hint for people and secret scanners, never for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The operator's, `plo_`.
    Operator,
    /// An owner's, `plw_`.
    Owner,
    /// An agent's, `pla_`.
    Agent,
}

/// A token in clear: shown once, never stored, never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A new token of 256 random bits.
    #[must_use]
    pub fn random(kind: TokenKind) -> Self {
        let prefix = match kind {
            TokenKind::Operator => "plo_",
            TokenKind::Owner => "plw_",
            TokenKind::Agent => "pla_",
        };
        // Where a request is sent again, its answer has the same token, and nothing but its digest was kept.
        let bits = plenary_engine::secret_of_request().map_or_else(random_hex, hex::encode);
        Self(format!("{prefix}{bits}"))
    }
    /// A token that somebody chose: `TOKEN_OCTETS_MIN` to `TOKEN_OCTETS_MAX` characters of printable ASCII without spaces.
    #[must_use]
    pub fn chosen(text: &str) -> Option<Self> {
        Self::seeded(text).filter(|token| !token.is_short())
    }
    /// A token of a seed file: the same, and as short as one character, since published suites seed short ones.
    #[must_use]
    pub fn seeded(text: &str) -> Option<Self> {
        let is_sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_sendable && (1..=TOKEN_OCTETS_MAX).contains(&text.len())).then(|| Self(text.to_owned()))
    }
    /// Whether it is shorter than one that somebody may choose.
    pub(crate) fn is_short(&self) -> bool {
        self.0.len() < TOKEN_OCTETS_MIN
    }
    /// The token itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.0)
    }
}

/// 256 random bits in hex.
pub(crate) fn random_hex() -> String {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).expect("the operating system gives random bytes");
    hex::encode(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_prefix_256_bits_and_differ() {
        for (kind, prefix) in
            [(TokenKind::Operator, "plo_"), (TokenKind::Owner, "plw_"), (TokenKind::Agent, "pla_")]
        {
            let (a, b) = (Token::random(kind), Token::random(kind));
            assert!(a.expose().starts_with(prefix) && a.expose().len() == 4 + 64);
            assert_ne!(a.expose(), b.expose());
        }
    }

    #[test]
    fn a_chosen_token_is_long_enough_and_fits_a_header() {
        for length in [TOKEN_OCTETS_MIN, TOKEN_OCTETS_MAX] {
            assert!(Token::chosen(&"x".repeat(length)).is_some(), "{length}");
        }
        for length in [0, 1, TOKEN_OCTETS_MIN - 1, TOKEN_OCTETS_MAX + 1] {
            assert!(Token::chosen(&"x".repeat(length)).is_none(), "{length}");
        }
        for strange in [" ", "\t", "\n", "\0", "\u{7f}", "ä"] {
            assert!(Token::chosen(&strange.repeat(TOKEN_OCTETS_MIN)).is_none(), "{strange:?}");
            assert!(Token::seeded(strange).is_none(), "{strange:?}");
        }
        assert!(Token::seeded("x").is_some_and(|token| token.is_short()));
    }

    #[test]
    fn a_token_is_not_printed_and_its_digest_is_written_in_hex() {
        let token = Token::seeded("secret").unwrap();
        assert!(!format!("{token:?} {:?}", token.digest()).contains("secret"));
        let text = serde_json::to_string(&token.digest()).unwrap();
        assert_eq!(text, "\"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"");
        assert_eq!(serde_json::from_str::<TokenDigest>(&text).unwrap(), token.digest());
        assert!(serde_json::from_str::<TokenDigest>("\"2bb8\"").is_err());
    }

    #[test]
    fn what_the_process_acts_with_is_no_token_and_is_not_read() {
        let inside = TokenDigest::INSIDE;
        assert!(!inside.matches(&inside) && !inside.matches(&TokenDigest::of("inside")));
        assert!(!TokenDigest::of("").matches(&inside) && inside.is_inside());
        assert!(serde_json::from_str::<TokenDigest>(&serde_json::to_string(&inside).unwrap()).is_err());
    }

    #[test]
    fn digests_are_compared_whole() {
        let a = TokenDigest::of("a");
        assert!(a.matches(&TokenDigest::of("a")) && !a.matches(&TokenDigest::of("b")));
    }
}
