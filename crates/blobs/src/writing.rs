//! A blob during an upload: parts under a temporary name, and the final name only at the end.
//! Must not know: whether it is the expected blob.

use std::sync::Arc;

use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, path::Path as Key};
use sha2::{Digest, Sha256};

use crate::{BlobId, Fault};

/// A content that is being put.
pub(crate) struct BlobWriter {
    store: Arc<dyn ObjectStore>,
    key: Key,
    part_octets: usize,
    hasher: Sha256,
    octets: u64,
    /// What waits to be a part.
    pieces: Vec<Bytes>,
    waiting: usize,
    upload: Upload,
}

/// The parts that were written; taken back when nothing comes of them.
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
    pub(crate) fn new(store: Arc<dyn ObjectStore>, key: Key, part_octets: usize) -> Self {
        let (hasher, upload) = (Sha256::new(), Upload::default());
        Self { store, key, part_octets, hasher, octets: 0, pieces: Vec::new(), waiting: 0, upload }
    }

    /// How many bytes there are so far.
    pub(crate) const fn octets(&self) -> u64 {
        self.octets
    }

    /// The name of what there is so far.
    pub(crate) fn id(&self) -> BlobId {
        BlobId::finished(self.hasher.clone())
    }

    /// Takes the next bytes.
    pub(crate) async fn write(&mut self, mut piece: Bytes) -> Result<(), Fault> {
        self.hasher.update(&piece);
        self.octets += piece.len() as u64;
        while self.waiting + piece.len() > self.part_octets {
            let part = piece.split_to(self.part_octets - self.waiting);
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

    /// Writes what waits as a part.
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

    /// Makes it a content; how many bytes it has.
    pub(crate) async fn finish(mut self) -> Result<u64, Fault> {
        if self.upload.0.is_none() {
            let whole = self.part();
            self.store.put(&self.key, whole).await?;
            return Ok(self.octets);
        }
        self.send().await?;
        if let Some(upload) = &mut self.upload.0 {
            upload.complete().await?;
        }
        self.upload.0 = None;
        Ok(self.octets)
    }

    /// Leaves nothing of it.
    pub(crate) async fn abort(mut self) {
        if let Some(mut upload) = self.upload.0.take() {
            given_up(&mut *upload).await;
        }
    }
}
