//! A server proves that it knows a token before the client sends the token. It answers a challenge with a MAC that requires the
//! token or its digest. The MAC covers the address that the client reached, so a listener that relays challenges to the real server gets
//! no usable answer.
//! Must not know: HTTP, the owner of a token, randomness.

use std::net::SocketAddr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::json::digest;

/// Hex digits of the token's digest that a challenge contains. They let the server find the token, but do not reveal it.
pub const KEY_DIGITS: usize = 16;
/// Hex digits of the random part of a challenge.
pub const NONCE_DIGITS: usize = 64;
/// The domain separation: this MAC is not valid for any other purpose.
const PURPOSE: &[u8] = b"plenary token proof 2\0";

/// A challenge from a client to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// [`NONCE_DIGITS`] random hex digits.
    pub nonce: String,
    /// The first [`KEY_DIGITS`] hex digits of the token's digest.
    pub key: String,
    /// The address that the client is connected to.
    pub address: SocketAddr,
}

impl Challenge {
    /// A challenge for a token at an address.
    pub fn of(token: &str, nonce: [u8; NONCE_DIGITS / 2], address: SocketAddr) -> Self {
        let mut key = hex::encode(digest(token.as_bytes()));
        key.truncate(KEY_DIGITS);
        Self { nonce: hex::encode(nonce), key, address }
    }

    /// Whether the nonce and the key have the right length and are lower-case hex.
    pub fn is_well_formed(&self) -> bool {
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let Self { nonce, key, address: _ } = self;
        nonce.len() == NONCE_DIGITS && key.len() == KEY_DIGITS && is_hex(nonce) && is_hex(key)
    }

    /// The answer, in hex, of a server that has the token's digest.
    pub fn answer(&self, digest: &[u8; 32]) -> String {
        hex::encode(self.mac(digest).finalize().into_bytes())
    }

    /// Whether the answer proves knowledge of this token. The comparison takes constant time.
    pub fn is_answered_by(&self, token: &str, answer: &str) -> bool {
        let Ok(answer) = hex::decode(answer) else { return false };
        self.mac(&digest(token.as_bytes())).verify_slice(&answer).is_ok()
    }

    fn mac(&self, digest: &[u8; 32]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(digest).expect("a key of any length will do");
        mac.update(PURPOSE);
        mac.update(self.nonce.as_bytes());
        mac.update(self.address.to_string().as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "pla_0000000000000000";

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    #[test]
    fn only_the_holder_of_the_digest_answers() {
        let challenge = Challenge::of(TOKEN, [7; 32], at("127.0.0.1:7420"));
        assert!(challenge.is_well_formed());
        let answer = challenge.answer(&digest(TOKEN.as_bytes()));
        assert_eq!(answer.len(), 64);
        assert!(challenge.is_answered_by(TOKEN, &answer));
        assert!(!challenge.is_answered_by("pla_another", &answer));
        assert!(!challenge.is_answered_by(TOKEN, &challenge.answer(&digest(b"pla_another"))));
        for bad in ["", "zz", &answer[..62], &format!("{answer}00")] {
            assert!(!challenge.is_answered_by(TOKEN, bad), "{bad}");
        }
    }

    #[test]
    fn an_answer_is_for_one_challenge_at_one_address() {
        let own = at("127.0.0.1:7420");
        let answer = Challenge::of(TOKEN, [7; 32], own).answer(&digest(TOKEN.as_bytes()));
        assert!(Challenge::of(TOKEN, [7; 32], own).is_answered_by(TOKEN, &answer));
        assert!(!Challenge::of(TOKEN, [8; 32], own).is_answered_by(TOKEN, &answer));
        for other in ["127.0.0.1:7421", "127.0.0.2:7420", "[::1]:7420"] {
            assert!(!Challenge::of(TOKEN, [7; 32], at(other)).is_answered_by(TOKEN, &answer), "{other}");
        }
    }

    #[test]
    fn a_challenge_of_another_form_is_none() {
        let good = Challenge::of(TOKEN, [7; 32], at("127.0.0.1:1"));
        for bad in [
            Challenge { nonce: "0".into(), ..good.clone() },
            Challenge { nonce: "A".repeat(NONCE_DIGITS), ..good.clone() },
            Challenge { key: String::new(), ..good.clone() },
            Challenge { key: "%".repeat(KEY_DIGITS), ..good },
        ] {
            assert!(!bad.is_well_formed(), "{bad:?}");
        }
    }

    #[test]
    fn the_answer_is_the_same_for_ever() {
        // Clients and servers of different versions must compute the same answer.
        let answer = Challenge::of("token", [0; 32], at("127.0.0.1:7420")).answer(&digest(b"token"));
        assert_eq!(answer, GOLDEN);
    }

    const GOLDEN: &str = "b731ee067a1752ec646bbf9f4281fea1e7621fae793425ac175d9959ec11ca86";
}
