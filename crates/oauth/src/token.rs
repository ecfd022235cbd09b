//! The secrets of clients: their generation and parsing. A refresh token contains the id of its grant, a part that
//! all tokens of the grant share, by which a used one is recognised, and a unique part. Pure but for the randomness.
//! Must not know: their validity; the accounts decide it.

use plenary_accounts::TokenDigest;
use plenary_kernel::AgentHandle;

const PREFIX: &str = "plr_";
/// Longest refresh token, in bytes; a longer one is invalid.
const REFRESH_BYTES_MAX: usize = 512;

/// 256 random bits in hex.
pub(crate) fn random_hex() -> String {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).expect("the operating system gives random bytes");
    hex::encode(bits)
}

/// A refresh token: `plr_<grant>.<64 hex>.<64 hex>.<owner>.<agent>`.
pub(crate) struct Refresh {
    pub(crate) grant: String,
    pub(crate) agent: AgentHandle,
    key: String,
    text: String,
}

impl Refresh {
    /// Makes the first token of a grant, or another token with the grant's shared part `key`.
    pub(crate) fn make(grant: &str, agent: &AgentHandle, key: Option<&str>) -> Self {
        let key = key.map_or_else(random_hex, str::to_owned);
        let handle = agent.as_str().trim_start_matches('@');
        let text = format!("{PREFIX}{grant}.{key}.{}.{handle}", random_hex());
        Self { grant: grant.to_owned(), agent: agent.clone(), key, text }
    }

    /// Parses a token that a client sent.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(PREFIX).filter(|_| text.len() <= REFRESH_BYTES_MAX)?.splitn(4, '.');
        let (grant, key, _) = (parts.next()?, parts.next()?, parts.next()?);
        let agent = format!("@{}", parts.next()?).parse().ok()?;
        Some(Self { grant: grant.to_owned(), agent, key: key.to_owned(), text: text.to_owned() })
    }

    /// Makes the next token of the same grant.
    pub(crate) fn next(&self) -> Self {
        Self::make(&self.grant, &self.agent, Some(&self.key))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.text
    }
    pub(crate) fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.text)
    }
    /// The digest of the part that all tokens of the grant share.
    pub(crate) fn key(&self) -> TokenDigest {
        TokenDigest::of(&self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_is_read_as_it_was_made_and_the_next_one_differs() {
        let first = Refresh::make("01A", &"@nick.bot".parse().unwrap(), None);
        let read = Refresh::read(first.expose()).unwrap();
        assert_eq!(
            (read.grant.as_str(), read.agent.as_str(), read.digest()),
            ("01A", "@nick.bot", first.digest())
        );
        let next = read.next();
        assert!(next.key() == first.key() && next.digest() != first.digest());
        for bad in ["", "plr_", "plr_a.b.c", "plr_a.b.c.d", "pla_01A.b.c.nick.bot"] {
            assert!(Refresh::read(bad).is_none(), "{bad}");
        }
    }
}
