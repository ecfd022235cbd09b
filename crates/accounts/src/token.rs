//! Bearer tokens: their generation, and the digest, which is the only stored form (wire.md D.1).
//! Must not know: the owner of a token.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{TOKEN_BYTES_MAX, TOKEN_BYTES_MIN};

/// The SHA-256 of a token, which is stored, compared and logged in its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenDigest(Proof);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Proof {
    Digest([u8; 32]),
    /// Not a token: this process acts for an agent that it runs. It cannot be made from a peer's bytes.
    Inside,
    /// Not a token: a console session with a verified cookie, by the digest of the cookie; of the operator or
    /// of an owner. It cannot be made from a peer's bytes.
    Console {
        cookie: [u8; 32],
        of_operator: bool,
    },
    /// Not a token of the account: a person acts with the verified token of its owner or of the operator. It cannot be
    /// made from a peer's bytes.
    Lent {
        token: [u8; 32],
        of_operator: bool,
    },
    /// Not a token: a client's grant, by its id, for effects that outlast the client's tokens. It cannot be made from a
    /// peer's bytes.
    Grant([u8; 26]),
    /// Not a token: a peer has signed the request of its agent. It cannot be made from a peer's bytes.
    Guest,
}

impl TokenDigest {
    /// The digest of an agent of another network, whose network has signed the request: it is valid while the accord is.
    pub(crate) const GUEST: Self = Self(Proof::Guest);

    /// The digest with which this process acts for the agents that it runs: every existing agent accepts it, and no token has
    /// it.
    pub(crate) const INSIDE: Self = Self(Proof::Inside);

    /// The digest of a token.
    pub fn of(token: &str) -> Self {
        Self(Proof::Digest(plenary_kernel::json::digest(token.as_bytes())))
    }
    /// The digest of bytes that may not be text.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Proof::Digest(plenary_kernel::json::digest(bytes)))
    }
    /// A console session with a verified cookie.
    pub(crate) fn of_console(cookie: [u8; 32], of_operator: bool) -> Self {
        Self(Proof::Console { cookie, of_operator })
    }
    /// A person who acts with this verified token of its owner or of the operator; `None` if this is not the digest of a
    /// token.
    pub(crate) fn lent(self, of_operator: bool) -> Option<Self> {
        self.bytes().map(|token| Self(Proof::Lent { token: *token, of_operator }))
    }
    /// The verified grant of a token.
    pub(crate) fn of_grant(id: &str) -> Option<Self> {
        id.as_bytes().try_into().ok().map(|id| Self(Proof::Grant(id)))
    }
    /// The id of the grant, if it is a grant.
    pub(crate) fn grant(&self) -> Option<&str> {
        match &self.0 {
            Proof::Grant(id) => std::str::from_utf8(id).ok(),
            Proof::Digest(_) | Proof::Inside | Proof::Console { .. } | Proof::Lent { .. } | Proof::Guest => {
                None
            }
        }
    }
    /// The same for a known digest.
    pub(crate) fn of_digest(bytes: [u8; 32]) -> Self {
        Self(Proof::Digest(bytes))
    }
    /// Whether this process acts for one of its agents.
    pub(crate) fn is_inside(&self) -> bool {
        self.0 == Proof::Inside
    }
    /// Whether an agent of another network acts.
    pub fn is_guest(&self) -> bool {
        self.0 == Proof::Guest
    }
    /// Whether a person acts, through the console or with the token of its owner.
    pub fn is_person(&self) -> bool {
        matches!(self.0, Proof::Console { .. } | Proof::Lent { .. })
    }
    /// The token of the owner or of the operator with which a person acts, and whether it is the operator's.
    pub(crate) fn lender(&self) -> Option<(Self, bool)> {
        match self.0 {
            Proof::Lent { token, of_operator } => Some((Self::of_digest(token), of_operator)),
            Proof::Digest(_) | Proof::Inside | Proof::Console { .. } | Proof::Grant(_) | Proof::Guest => None,
        }
    }
    /// The digest of the cookie of a console session, and whether it is the operator's.
    pub(crate) fn console(&self) -> Option<(&[u8; 32], bool)> {
        match &self.0 {
            Proof::Console { cookie, of_operator } => Some((cookie, *of_operator)),
            Proof::Digest(_) | Proof::Inside | Proof::Lent { .. } | Proof::Grant(_) | Proof::Guest => None,
        }
    }
    /// The digest, if it is that of a token.
    pub(crate) fn bytes(&self) -> Option<&[u8; 32]> {
        match &self.0 {
            Proof::Digest(bytes) => Some(bytes),
            Proof::Inside | Proof::Console { .. } | Proof::Lent { .. } | Proof::Grant(_) | Proof::Guest => {
                None
            }
        }
    }
    /// The same from 64 hex digits.
    pub(crate) fn of_hex(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest).ok()?;
        Some(Self(Proof::Digest(digest)))
    }
    /// 64 lower-case hex digits.
    pub fn hex(&self) -> String {
        match &self.0 {
            Proof::Digest(bytes) => hex::encode(bytes),
            Proof::Inside => "inside".into(),
            Proof::Console { cookie, .. } => format!("console:{}", hex::encode(cookie)),
            Proof::Lent { token, .. } => format!("lent:{}", hex::encode(token)),
            Proof::Grant(id) => format!("grant:{}", String::from_utf8_lossy(id)),
            Proof::Guest => "guest".into(),
        }
    }
    /// Compares in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Proof::Digest(a), Proof::Digest(b)) => {
                a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
            }
            _ => false,
        }
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Proof::Digest(bytes) => write!(f, "sha256:{}…", hex::encode(&bytes[..4])),
            Proof::Inside => f.write_str("inside"),
            Proof::Console { cookie, .. } => write!(f, "console:{}…", hex::encode(&cookie[..4])),
            Proof::Lent { token, .. } => write!(f, "lent:{}…", hex::encode(&token[..4])),
            Proof::Grant(id) => write!(f, "grant:{}", String::from_utf8_lossy(id)),
            Proof::Guest => f.write_str("guest"),
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
        plenary_kernel::json::parse_text(deserializer, |text| Self::of_hex(text).ok_or("it is no digest"))
    }
}

/// The kind of a token, by its prefix: a hint for people and secret scanners, never for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The operator's, `plo_`.
    Operator,
    /// An owner's, `plw_`.
    Owner,
    /// An agent's, `pla_`.
    Agent,
    /// An agent's with a scope, `pls_`.
    Scoped,
}

/// A token in clear text: shown once, never stored, and redacted in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A new token of 256 random bits.
    pub fn random(kind: TokenKind) -> Self {
        let prefix = match kind {
            TokenKind::Operator => "plo_",
            TokenKind::Owner => "plw_",
            TokenKind::Agent => "pla_",
            TokenKind::Scoped => "pls_",
        };
        // A repeated request gets the same token, although only its digest is stored.
        let bits = plenary_engine::secret_of_request().map_or_else(random_hex, hex::encode);
        Self(format!("{prefix}{bits}"))
    }
    /// A chosen token: `TOKEN_BYTES_MIN` to `TOKEN_BYTES_MAX` characters of printable ASCII without spaces.
    pub fn chosen(text: &str) -> Option<Self> {
        Self::seeded(text).filter(|token| !token.is_short())
    }
    /// A token of a seed file: the same, but one character is enough, because published suites seed short tokens.
    pub fn seeded(text: &str) -> Option<Self> {
        let is_sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_sendable && (1..=TOKEN_BYTES_MAX).contains(&text.len())).then(|| Self(text.to_owned()))
    }
    /// Whether it is shorter than the limit for chosen tokens.
    pub(crate) fn is_short(&self) -> bool {
        self.0.len() < TOKEN_BYTES_MIN
    }
    /// The token itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
    /// Its digest.
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
        for length in [TOKEN_BYTES_MIN, TOKEN_BYTES_MAX] {
            assert!(Token::chosen(&"x".repeat(length)).is_some(), "{length}");
        }
        for length in [0, 1, TOKEN_BYTES_MIN - 1, TOKEN_BYTES_MAX + 1] {
            assert!(Token::chosen(&"x".repeat(length)).is_none(), "{length}");
        }
        for strange in [" ", "\t", "\n", "\0", "\u{7f}", "ä"] {
            assert!(Token::chosen(&strange.repeat(TOKEN_BYTES_MIN)).is_none(), "{strange:?}");
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
    fn what_a_console_acts_with_is_no_token_and_is_not_read() {
        let session = TokenDigest::of_console([7; 32], false);
        assert!(!session.matches(&session) && !session.matches(&TokenDigest::of_digest([7; 32])));
        assert!(!TokenDigest::of_digest([7; 32]).matches(&session) && session.is_person());
        assert!(serde_json::from_str::<TokenDigest>(&serde_json::to_string(&session).unwrap()).is_err());
    }

    #[test]
    fn digests_are_compared_whole() {
        let a = TokenDigest::of("a");
        assert!(a.matches(&TokenDigest::of("a")) && !a.matches(&TokenDigest::of("b")));
    }
}
