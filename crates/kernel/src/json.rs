//! Strict JSON for requests, and the canonical form for digests.
//! Must not know: the schema of any protocol.

mod canonical;
mod check;
mod fault;
mod keys;
mod number;
mod parse;
mod text;
mod tree;

pub use canonical::{Nulls, canonical};
pub use check::check;
pub use fault::JsonFault;
pub use parse::parse_text;
pub use tree::Tree;

use sha2::{Digest, Sha256};

/// SHA-256 of these bytes.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex::encode(digest(b"")), empty);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex::encode(digest(b"abc")), abc);
    }
}
