//! Bytes that belong to one object alone: stored under a separate name, so that removing them removes no other
//! object's bytes. A write returns their SHA-256, and a read is verified against it.
//! Must not know: the object.

use std::{fmt, ops::Range, str::FromStr};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use object_store::{ObjectStoreExt, path::Path as Key};
use sha2::{Digest, Sha256};

use crate::{BlobId, Blobs, Content, Fault, PutError};

/// The directory of blobs with a separate name.
pub(crate) const DIRECTORY: &str = "files";
/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// The number of bytes at the end of a name that choose its subdirectory.
const SHELF_BYTES: usize = 2;

/// A separate name of a blob: 3 to 128 ASCII letters, digits, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnName(String);

/// The text is not a valid name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a content's own name is 3 to 128 ASCII letters, digits, `_` and `-`")]
pub struct NotAName;

impl FromStr for OwnName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let fits = (SHELF_BYTES + 1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_of_name);
        if fits { Ok(Self(text.to_owned())) } else { Err(NotAName) }
    }
}

impl fmt::Display for OwnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a name may contain the byte.
pub(crate) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

impl BlobId {
    /// The SHA-256 and size of a stream that is not stored.
    ///
    /// # Errors
    /// `TooLarge`, or `Content` if the stream is interrupted.
    pub async fn of_pieces<S, E>(content: S, bytes_max: u64) -> Result<(Self, u64), PutError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
    {
        let (mut content, mut hasher, mut bytes) = (std::pin::pin!(content), Sha256::new(), 0);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(PutError::Content)?;
            bytes += piece.len() as u64;
            if bytes > bytes_max {
                return Err(PutError::TooLarge { bytes_max });
            }
            hasher.update(&piece);
        }
        Ok((Self::finished(hasher), bytes))
    }
}

impl Blobs {
    fn own_key(&self, name: &OwnName) -> Key {
        let shelf = &name.0[name.0.len() - SHELF_BYTES..];
        self.below(DIRECTORY).join(shelf).join(name.0.as_str())
    }

    /// Stores a blob under a separate name; returns its SHA-256 and size. It is stored whole and on
    /// disk, or not at all, even if the future is dropped.
    ///
    /// # Errors
    /// [`PutError`] except `Mismatch`; nothing is stored then.
    pub async fn write<S, E>(
        &self,
        name: &OwnName,
        content: S,
        bytes_max: u64,
    ) -> Result<(BlobId, u64), PutError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
    {
        let _permit = self.permit().await?;
        let writing = self.written(self.own_key(name), content, bytes_max).await?;
        let id = writing.id();
        Ok((id, writing.finish().await?))
    }

    /// The blob of a name, or a range of it, as in [`Blobs::get`]; `id` is its hash when it was written.
    ///
    /// # Errors
    /// When the store fails, or the blob is damaged.
    pub async fn read(
        &self,
        name: &OwnName,
        id: &BlobId,
        range: Option<Range<u64>>,
    ) -> Result<Option<Content>, Fault> {
        self.get_at(self.own_key(name), id, range).await
    }

    /// Removes the blob of a name; a missing one is not an error.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remove(&self, name: &OwnName) -> Result<(), Fault> {
        match self.store().delete(&self.own_key(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{TryStreamExt, stream};

    use super::*;
    use crate::Location;

    #[tokio::test]
    async fn a_content_has_a_name_of_its_own_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let in_directory = Blobs::open(&Location::Own(directory.path().join("blobs")), |_| None).unwrap();
        for blobs in [Blobs::in_memory(), in_directory] {
            let names: [OwnName; 2] = ["file_1".parse().unwrap(), "file_2".parse().unwrap()];
            let written = async |name: &OwnName, text: &'static str, max| {
                let pieces = stream::iter([Ok::<_, Infallible>(Bytes::from_static(text.as_bytes()))]);
                blobs.write(name, pieces, max).await
            };
            let id = BlobId::of(b"content");
            for name in &names {
                assert_eq!(written(name, "content", 7).await.unwrap(), (id, 7));
            }
            assert!(blobs.get(&id, None).await.unwrap().is_none(), "it is nobody else's");
            blobs.remove(&names[0]).await.unwrap();
            blobs.remove(&names[0]).await.unwrap();
            assert!(blobs.read(&names[0], &id, None).await.unwrap().is_none());
            let content = blobs.read(&names[1], &id, Some(1..4)).await.unwrap().unwrap();
            let pieces: Vec<Bytes> = content.stream.try_collect().await.unwrap();
            assert_eq!(pieces.concat(), b"ont");
            let other = blobs.read(&names[1], &BlobId::of(b"other"), None).await;
            assert!(matches!(other, Err(Fault::Damaged(_))));
            let large = written(&names[0], "content", 6).await;
            assert!(matches!(large, Err(PutError::TooLarge { bytes_max: 6 })));
            assert!(blobs.read(&names[0], &id, None).await.unwrap().is_none());
        }
        for bad in ["", "ab", "a/b", "../..", "a b", "a#1"] {
            assert_eq!(bad.parse::<OwnName>(), Err(NotAName), "{bad}");
        }
    }
}
