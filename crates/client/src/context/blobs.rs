//! Blobs: the contents of deliverables, by their hash (wire.md D.7).
//! Must not know: the packages that refer to them.

use std::{fmt, str::FromStr};

use bytes::Bytes;
use http::Method;
use plenary_kernel::json::digest;

use super::path::project;
use crate::{Client, Error, Reply, Result};

/// The SHA-256 of a content; its text is 64 hex digits in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The id of a content.
    pub fn of(content: &[u8]) -> Self {
        Self(digest(content))
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for BlobId {
    type Err = Error;

    /// Accepts the hash with or without `sha256:`.
    fn from_str(text: &str) -> Result<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:").unwrap_or(text), &mut bytes)
            .map_err(|_| Error::Invalid(format!("`{text}` is not a SHA-256 hash of 64 hex digits")))?;
        Ok(Self(bytes))
    }
}

impl Client {
    /// `PUT …/blobs/{sha256}`. Repeating it changes nothing.
    ///
    /// # Errors
    /// 501 `not_implemented` if the server stores no blobs.
    pub async fn put_blob(&self, project_id: &str, content: Bytes) -> Result<Reply<serde_json::Value>> {
        let path = project(project_id, &format!("/blobs/{}", BlobId::of(&content)));
        let send = || async { Reply::read(self.put_bytes(&path, content.clone()).await?.into_success()?) };
        self.retry().run(send).await
    }

    /// `HEAD …/blobs/{sha256}`: whether the project has it.
    pub(crate) async fn has_blob(&self, project_id: &str, id: BlobId) -> Result<bool> {
        let path = project(project_id, &format!("/blobs/{id}"));
        match self.raw(Method::HEAD, &path, None).await?.into_success() {
            Ok(_) => Ok(true),
            Err(Error::Refused(refused)) if refused.status == 404 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `GET …/blobs/{sha256}`; verifies the hash.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the hash does not match.
    pub async fn blob(&self, project_id: &str, id: BlobId) -> Result<Bytes> {
        let path = project(project_id, &format!("/blobs/{id}"));
        let content = self.raw(Method::GET, &path, None).await?.into_success()?.body;
        if BlobId::of(&content) == id {
            return Ok(content);
        }
        Err(Error::Unreadable(format!("the content received for {id} has the hash {}", BlobId::of(&content))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_with_its_algorithm() {
        let id = BlobId::of(b"");
        assert_eq!(id.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(format!("sha256:{id}").parse::<BlobId>().unwrap(), id);
        assert!("sha256:12".parse::<BlobId>().is_err());
    }
}
