//! A reply parsed into its type, with the server's own JSON beside it.
//! Must not know: any operation.

use std::ops::Deref;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::{Error, RawReply, Result};

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Reply<T> {
    /// The parsed answer.
    pub value: T,
    /// The HTTP status, 2xx.
    pub status: u16,
    /// Whether this is the original answer to an idempotency key that was used before (wire.md 2.5, 16).
    pub replayed: bool,
    body: Bytes,
}

impl<T> Reply<T> {
    /// The server's JSON, unchanged; empty if the answer had no body (204).
    pub fn json(&self) -> &str {
        // The body was parsed as JSON before, so it is UTF-8.
        std::str::from_utf8(&self.body).unwrap_or_default()
    }
}

impl<T> Deref for Reply<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: DeserializeOwned> Reply<T> {
    /// Parses a 2xx answer; an empty body stands for JSON `null`.
    pub(crate) fn read(raw: RawReply) -> Result<Self> {
        let text: &[u8] = if raw.body.is_empty() { b"null" } else { &raw.body };
        let value = serde_json::from_slice(text)
            .map_err(|e| Error::Unreadable(format!("HTTP {} with an unexpected body ({e})", raw.status)))?;
        let replayed = raw.header("idempotency-replayed") == Some("true");
        Ok(Self { value, status: raw.status, replayed, body: raw.body })
    }
}
