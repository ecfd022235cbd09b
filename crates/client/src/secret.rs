//! Bearer tokens in the client: `Debug` never shows them, and the prefix tells their kind (wire.md D.1).
//! Must not know: where tokens are stored.

use std::fmt;

use http::HeaderValue;

use crate::{Error, Result};

/// The kind of holder of a token, from its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// `plo_…`: may do everything, but acts as no agent.
    Operator,
    /// `plw_…`: configures its own agents, but acts as no agent.
    Owner,
    /// `pla_…`: acts as one agent, and configures nothing.
    Agent,
    /// No known prefix, e.g. one chosen in a seed file.
    Unknown,
}

/// A bearer token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Wraps a token.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is not valid in a header: empty, or with spaces or control characters.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::Invalid("a token must be printable ASCII characters without spaces".into()));
        }
        Ok(Self(text))
    }

    /// The token itself: to be stored or shown once, never logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The kind of its holder, from its prefix.
    pub fn kind(&self) -> TokenKind {
        match self.0.get(..4) {
            Some("plo_") => TokenKind::Operator,
            Some("plw_") => TokenKind::Owner,
            Some("pla_") => TokenKind::Agent,
            _ => TokenKind::Unknown,
        }
    }

    /// The `Authorization` header, marked as sensitive so that lower layers do not log it.
    pub(crate) fn header(&self) -> Result<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0))
            .map_err(|_| Error::Invalid("the token is not valid in a header".into()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:?}, …)", self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown_by_debug_and_is_one_printable_word() {
        let token = Token::new("pla_secretsecret").unwrap();
        assert_eq!(token.kind(), TokenKind::Agent);
        assert!(!format!("{token:?} {:?}", token.header().unwrap()).contains("secret"));
        for bad in ["", "a b", "a\nb", "ü", "a\u{7f}"] {
            assert!(Token::new(bad).is_err(), "{bad:?}");
        }
    }
}
