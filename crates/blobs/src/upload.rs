//! A blob during an upload: parts under a temporary name, and the final name only at the end.
//! Must not know: whether it is the expected blob.

use std::sync::Arc;

use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, path::Path as Key};
use sha2::{Digest, Sha256};

use crate::{BlobId, Fault};

/// A blob during an upload.
pub(crate) struct BlobWriter {
    store: Arc<dyn ObjectStore>,
    key: Key,
    part_bytes: usize,
    hasher: Sha256,
    bytes: u64,
    /// The bytes of the next part.
    pieces: Vec<Bytes>,
    waiting: usize,
    upload: Upload,
}

/// The written parts; they are removed if the upload fails.
#[derive(Default)]
struct Upload(Option<Box<dyn MultipartUpload>>);

impl Drop for Upload {
    fn drop(&mut self) {
        let (Some(mut upload), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move { given_up(&mut *upload).await });
    }
}

async fn given_up(upload: &mut dyn MultipartUpload) {
    if let Err(error) = upload.abort().await {
        tracing::warn!(%error, "parts of a content that was not stored could not be removed");
    }
}

impl BlobWriter {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, key: Key, part_bytes: usize) -> Self {
        let (hasher, upload) = (Sha256::new(), Upload::default());
        Self { store, key, part_bytes, hasher, bytes: 0, pieces: Vec::new(), waiting: 0, upload }
    }

    /// The number of bytes so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash of the bytes so far.
    pub(crate) fn id(&self) -> BlobId {
        BlobId::finished(self.hasher.clone())
    }

    /// Adds the next bytes.
    pub(crate) async fn write(&mut self, mut piece: Bytes) -> Result<(), Fault> {
        self.hasher.update(&piece);
        self.bytes += piece.len() as u64;
        while self.waiting + piece.len() > self.part_bytes {
            let part = piece.split_to(self.part_bytes - self.waiting);
            self.take(part);
            self.send().await?;
        }
        self.take(piece);
        Ok(())
    }

    fn take(&mut self, piece: Bytes) {
        self.waiting += piece.len();
        self.pieces.push(piece);
    }

    fn part(&mut self) -> PutPayload {
        self.waiting = 0;
        std::mem::take(&mut self.pieces).into_iter().collect()
    }

    /// Writes the waiting bytes as a part.
    async fn send(&mut self) -> Result<(), Fault> {
        let part = self.part();
        if self.upload.0.is_none() {
            self.upload.0 = Some(self.store.put_multipart(&self.key).await?);
        }
        if let Some(upload) = &mut self.upload.0 {
            upload.put_part(part).await?;
        }
        Ok(())
    }

    /// Gives the blob its final name; returns its size in bytes.
    pub(crate) async fn finish(mut self) -> Result<u64, Fault> {
        if self.upload.0.is_none() {
            let whole = self.part();
            self.store.put(&self.key, whole).await?;
            return Ok(self.bytes);
        }
        self.send().await?;
        if let Some(upload) = &mut self.upload.0 {
            upload.complete().await?;
        }
        self.upload.0 = None;
        Ok(self.bytes)
    }

    /// Removes the parts.
    pub(crate) async fn abort(mut self) {
        if let Some(mut upload) = self.upload.0.take() {
            given_up(&mut *upload).await;
        }
    }
}
