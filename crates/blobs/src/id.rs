//! The name of a blob: its SHA-256.
//! Must not know: where it is stored.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

/// The SHA-256 of a blob, written as 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlobId([u8; 32]);

/// The text is not 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a content must be its SHA-256 in 64 lower-case hex digits")]
pub struct NotABlobId;

impl BlobId {
    /// The hash of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self::finished(Sha256::new_with_prefix(content))
    }

    pub(crate) fn finished(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl FromStr for BlobId {
    type Err = NotABlobId;

    fn from_str(text: &str) -> Result<Self, NotABlobId> {
        let mut digest = [0; 32];
        let is_lower = text.bytes().all(|byte| !byte.is_ascii_uppercase());
        match hex::decode_to_slice(text, &mut digest) {
            Ok(()) if is_lower => Ok(Self(digest)),
            _ => Err(NotABlobId),
        }
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
