//! The interface of the blob store.
//! Must not know: how a blob is verified during a transfer.

use std::{
    ops::Range,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream::BoxStream};
use object_store::{
    GetOptions, GetRange, ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory,
    path::Path as Key,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    BlobId, Fault, Location, OpenFault, PUT_BUFFER_BYTES_MAX, PUT_WAIT, PutError, WHOLE_BYTES_MAX,
    leftovers::{STAGING_AGE_MIN, sweep},
    marks::Marks,
    upload::BlobWriter,
    verified::{VerifiedStream, verify},
};

/// The part size if the store prescribes none, in bytes.
pub(crate) const PART_BYTES: usize = 256 << 10;

/// A store of blobs by their SHA-256. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// The prefix of every name; may be empty.
    prefix: String,
    part_bytes: usize,
    /// One permit for each concurrent put.
    turns: Arc<Semaphore>,
    put_wait: Duration,
    marks: Marks,
}

/// A blob, or a part of it, as a stream.
pub struct Content {
    /// The size of the whole blob.
    pub bytes: u64,
    /// The range of bytes in the stream.
    pub range: Range<u64>,
    /// The bytes. After an error the bytes before it must not be trusted.
    pub stream: BoxStream<'static, Result<Bytes, Fault>>,
}

/// A blob that was read to its end and verified, but not stored yet. Dropping it removes it.
pub struct StagedBlob {
    writing: BlobWriter,
    _permit: OwnedSemaphorePermit,
}

impl StagedBlob {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.writing.bytes()
    }

    /// Stores it durably, whole or not at all, and returns its size in bytes.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep(self) -> Result<u64, Fault> {
        self.writing.finish().await
    }

    /// Removes it.
    pub async fn abort(self) {
        self.writing.abort().await;
    }
}

impl Blobs {
    /// A store in memory, which is lost with its last clone.
    pub fn in_memory() -> Self {
        Self::over(Arc::new(InMemory::new()), String::new(), PART_BYTES)
    }

    /// Opens the store at a place. `variable` reads the secret environment variables, wherever they are
    /// kept.
    ///
    /// # Errors
    /// When a directory can't be made, or a bucket's address or keys are missing.
    pub fn open(location: &Location, variable: impl Fn(&str) -> Option<String>) -> Result<Self, OpenFault> {
        #[cfg(not(feature = "s3"))]
        let _ = variable;
        match location {
            Location::Memory => Ok(Self::in_memory()),
            Location::Own(path) => Self::in_directory(path, None),
            Location::Directory(path) => Self::in_directory(path, Some(STAGING_AGE_MIN)),
            #[cfg(feature = "s3")]
            Location::Bucket { bucket, prefix } => {
                let store = crate::s3::bucket(bucket, variable)?;
                Ok(Self::over(store, prefix.clone(), crate::s3::PART_BYTES))
            }
            #[cfg(not(feature = "s3"))]
            Location::Bucket { .. } => {
                Err(OpenFault(format!("{location} needs a build with the feature `s3`")))
            }
        }
    }

    fn in_directory(path: &Path, staging_age_min: Option<Duration>) -> Result<Self, OpenFault> {
        let bad = |error: String| OpenFault(format!("the directory of blobs {}: {error}", path.display()));
        create_private(path).map_err(|error| bad(error.to_string()))?;
        // The server's own directory is in its data directory, which is private.
        if staging_age_min.is_some() && is_open_to_all(path).map_err(|error| bad(error.to_string()))? {
            tracing::warn!(path = %path.display(), "all users of this machine can read the directory of blobs");
        }
        let swept = sweep(path, staging_age_min).map_err(|error| bad(error.to_string()))?;
        if swept > 0 {
            tracing::info!(files = swept, "removed the remains of interrupted uploads");
        }
        let store = LocalFileSystem::new_with_prefix(path).map_err(|error| bad(error.to_string()))?;
        // An acknowledged blob is on disk.
        Ok(Self::over(Arc::new(store.with_fsync(true)), String::new(), PART_BYTES))
    }

    pub(crate) fn over(store: Arc<dyn ObjectStore>, prefix: String, part_bytes: usize) -> Self {
        let turns = Arc::new(Semaphore::new(PUT_BUFFER_BYTES_MAX / part_bytes));
        Self { store, prefix, part_bytes, turns, put_wait: PUT_WAIT, marks: Marks::default() }
    }

    /// Sets the limit on the wait of a put.
    #[cfg(test)]
    pub(crate) fn waiting(self, put_wait: Duration) -> Self {
        Self { put_wait, ..self }
    }

    fn key(&self, id: &BlobId) -> Key {
        let name = id.to_string();
        let (shelf, rest) = name.split_at(2);
        self.shelves().join(shelf).join(rest)
    }

    /// The directory of all blobs that are named by their SHA-256.
    pub(crate) fn shelves(&self) -> Key {
        self.below("sha256")
    }

    /// A directory below the prefix.
    pub(crate) fn below(&self, directory: &str) -> Key {
        Key::from_iter(self.prefix.split('/').filter(|part| !part.is_empty()).chain([directory]))
    }

    pub(crate) fn store(&self) -> &dyn ObjectStore {
        &*self.store
    }

    pub(crate) async fn permit<E>(&self) -> Result<OwnedSemaphorePermit, PutError<E>> {
        match timeout(self.put_wait, self.turns.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(PutError::Busy),
        }
    }

    /// Stores a blob under its hash; returns its size in bytes. It is stored whole and on disk, or not
    /// at all, even if the future is dropped. Putting a blob again is not an error, and repairs it if it
    /// was damaged.
    ///
    /// # Errors
    /// [`PutError`]; nothing is kept then.
    pub async fn put<S, E>(&self, id: &BlobId, content: S, bytes_max: u64) -> Result<u64, PutError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
    {
        Ok(self.stage(id, content, bytes_max).await?.keep().await?)
    }

    /// Reads and verifies a blob without storing it yet.
    ///
    /// # Errors
    /// [`PutError`]; nothing is left of it then.
    pub async fn stage<S, E>(
        &self,
        id: &BlobId,
        content: S,
        bytes_max: u64,
    ) -> Result<StagedBlob, PutError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
    {
        let permit = self.permit().await?;
        let writing = self.written(self.key(id), content, bytes_max).await?;
        let found = writing.id();
        if found != *id {
            writing.abort().await;
            return Err(PutError::Mismatch(found));
        }
        Ok(StagedBlob { writing, _permit: permit })
    }

    /// Reads a blob to its end; it still needs its name.
    pub(crate) async fn written<S, E>(
        &self,
        key: Key,
        content: S,
        bytes_max: u64,
    ) -> Result<BlobWriter, PutError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
    {
        let mut content = std::pin::pin!(content);
        let mut writing = BlobWriter::new(self.store.clone(), key, self.part_bytes);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(PutError::Content)?;
            if writing.bytes() + piece.len() as u64 > bytes_max {
                writing.abort().await;
                return Err(PutError::TooLarge { bytes_max });
            }
            writing.write(piece).await?;
        }
        Ok(writing)
    }

    /// The size of a blob; `None` if it does not exist.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn head(&self, id: &BlobId) -> Result<Option<u64>, Fault> {
        match self.store.head(&self.key(id)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A blob, or a range of it, which ends at the blob's end at the latest; `None` if it does not
    /// exist. A small blob is verified before its first byte is returned, a large one during the
    /// transfer. For a range of a large blob the whole blob is verified first, unless this process has
    /// done that since it was last written.
    ///
    /// # Errors
    /// When the store fails, or the blob is damaged.
    pub async fn get(&self, id: &BlobId, range: Option<Range<u64>>) -> Result<Option<Content>, Fault> {
        self.get_at(self.key(id), id, range).await
    }

    /// Reads a blob at a key.
    pub(crate) async fn get_at(
        &self,
        key: Key,
        id: &BlobId,
        range: Option<Range<u64>>,
    ) -> Result<Option<Content>, Fault> {
        let found = match self.store.get(&key).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (bytes, meta) = (found.meta.size, found.meta.clone());
        let cut =
            |range: &Range<u64>| range.start.min(bytes)..range.end.min(bytes).max(range.start.min(bytes));
        let range = range.as_ref().map_or(0..bytes, cut);
        if bytes <= WHOLE_BYTES_MAX {
            let whole = found.bytes().await?;
            if BlobId::of(&whole) != *id {
                return Err(Fault::Damaged(*id));
            }
            let at = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX).min(whole.len());
            let part = whole.slice(at(range.start)..at(range.end));
            let stream = futures_util::stream::once(async { Ok(part) }).boxed();
            return Ok(Some(Content { bytes, range, stream }));
        }
        let whole = found.into_stream().map_err(Fault::from).boxed();
        if range == (0..bytes) {
            let stream = VerifiedStream::new(whole, *id).into_stream().boxed();
            return Ok(Some(Content { bytes, range, stream }));
        }
        // A part does not suffice to check the hash, so the whole blob is verified once in its current
        // state.
        if !self.marks.has(&key, &meta) {
            let _one = self.marks.verifying.lock().await;
            if !self.marks.has(&key, &meta) {
                verify(whole, id).await?;
                self.marks.add(&key, &meta);
            }
        }
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let stream = if range.is_empty() {
            futures_util::stream::empty().boxed()
        } else {
            self.store.get_opts(&key, options).await?.into_stream().map_err(Fault::from).boxed()
        };
        Ok(Some(Content { bytes, range, stream }))
    }
}

/// Makes a directory that only the server's user can enter: the files in it are readable by all. An existing one keeps its
/// mode, because the server's machines may share it with a group.
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether users of this machine other than the directory's owner and group can read what is in it.
fn is_open_to_all(path: &Path) -> std::io::Result<bool> {
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o005 != 0)
}
