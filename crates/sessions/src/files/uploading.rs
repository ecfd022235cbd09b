//! An upload, from its first byte to the file: started, written to disk while it arrives, stored. A failed upload
//! leaves nothing.
//! Must not know: HTTP, or the form of a body.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use plenary_accounts::Authority;
use plenary_blobs::{BlobId, Blobs, OwnName, PutError};
use plenary_engine::{ExecuteError, Executed, KeyUse, quota_refusal};
use plenary_kernel::{AgentHandle, FileId, Refusal, Share, json::digest};
use plenary_log::{ExceededQuota, Fault};
use plenary_room::{Form as _, House};
use tokio::time::timeout;

use super::{
    UPLOAD_MS_MAX,
    command::{BeginUpload, FileDeclaration, KeepFile, RemoveFile, UploadedFile},
    refusals::{full, no_storage, not_kept, of_place, too_large, too_slow},
    room::OfUploader,
};
use crate::{Sessions, refusals::SessionRefusal};

/// The uploading agent and its authority.
pub(super) struct Uploader {
    pub(super) handle: AgentHandle,
    pub(super) authority: Authority,
}

/// The name of a file's content.
pub(super) fn name_of(id: &FileId) -> OwnName {
    id.as_str().parse().expect("a file id is letters, digits and `_`")
}

/// The digest of an upload: name, media type and content, without the multipart framing.
fn digest_of(said: &FileDeclaration, content: &BlobId) -> [u8; 32] {
    let FileDeclaration { name, media_type } = said;
    digest(format!("file\n{name}\n{media_type}\n{content}").as_bytes())
}

impl Sessions {
    /// Sets the blob store for file contents. Only the first call has an effect; before it uploads are refused with 501.
    #[must_use]
    pub fn with_files(self, blobs: Option<Blobs>) -> Self {
        if let Some(blobs) = blobs {
            let _ = self.0.files.blobs.set(blobs);
        }
        self
    }

    pub(super) fn contents(&self) -> Result<&Blobs, SessionRefusal> {
        self.0.files.blobs.get().ok_or_else(|| no_storage().into())
    }

    /// A share of the uploads that may be under way.
    pub(super) fn upload_share(&self, by: &AgentHandle) -> Result<Share<String>, SessionRefusal> {
        let most = self.0.config.uploads_per_owner_max;
        self.0.files.uploads.take(by.owner().to_owned(), 1).map_err(|why| full(why, most).into())
    }

    /// Stores a file; with an equal key once.
    pub(super) async fn upload(
        &self,
        by: &Uploader,
        said: FileDeclaration,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
        key: Option<String>,
    ) -> Result<Executed<UploadedFile>, SessionRefusal> {
        let scope = format!("file/{}", by.handle);
        let earlier = match &key {
            Some(key) => self.log().read_key(&scope, key).await?,
            None => None,
        };
        if let Some(earlier) = earlier {
            let bytes_max = self.0.config.file_bytes_max;
            let (id, _) = in_time(BlobId::of_pieces(content, bytes_max)).await?.map_err(not_kept)?;
            if earlier.digest != digest_of(&said, &id) {
                return Err(SessionRefusal::new(House::key_reused()));
            }
            let reply = serde_json::from_slice(&earlier.outcome)
                .map_err(|error| Fault::Corrupt(format!("an answer under a key: {error}")))?;
            return Ok(Executed { reply, replayed: true, position: None });
        }
        let id = FileId::mint(&self.0.streams.clock().stamp(), 0);
        let begin = BeginUpload { by: by.handle.clone() };
        let begin = OfUploader { accounts: self.accounts(), authority: &by.authority, command: &begin };
        self.0.files.streams.begin(id.as_str(), &begin, None).await?;
        let (sha256, bytes) = match self.written(by, &id, content).await {
            Ok(written) => written,
            Err(refused) => {
                self.give_up(&id).await;
                return Err(refused);
            }
        };
        let key = key.map(|key| KeyUse { scope, key, digest: digest_of(&said, &sha256) });
        let unnamed_ms_max = self.0.config.file_unnamed_ms_max;
        let keep = KeepFile { id: id.clone(), said, bytes, sha256: sha256.to_string(), unnamed_ms_max };
        let keep = OfUploader { accounts: self.accounts(), authority: &by.authority, command: &keep };
        let done = self.0.files.streams.execute(id.as_str(), &keep, key.as_ref()).await;
        match &done {
            Ok(done) if done.reply.id == id => {}
            // It may be stored all the same.
            Err(ExecuteError::Fault(_)) => {}
            // Refused, or somebody else was first with the key.
            Ok(_) | Err(_) => self.give_up(&id).await,
        }
        Ok(done?)
    }

    /// Writes a content to disk; returns its SHA-256 and its size.
    async fn written(
        &self,
        by: &Uploader,
        id: &FileId,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
    ) -> Result<(BlobId, u64), SessionRefusal> {
        let bytes_max = self.0.config.file_bytes_max;
        let left = self.log().bytes_left(by.handle.owner()).await?.filter(|left| *left < bytes_max);
        let name = name_of(id);
        let write = self.contents()?.write(&name, content, left.unwrap_or(bytes_max));
        let written = in_time(write).await?.map_err(|error| match (error, left) {
            (PutError::TooLarge { .. }, Some(left)) => self.over_quota(left),
            (error, _) => not_kept(error),
        })?;
        Ok(written)
    }

    /// A file is larger than what its owner may still store.
    fn over_quota(&self, left: u64) -> Refusal {
        match self.log().ledger().max() {
            Some(max) => {
                quota_refusal(ExceededQuota::Bytes { used: max.bytes.saturating_sub(left), max: max.bytes })
            }
            None => too_large(left),
        }
    }

    /// Discards an upload. A sweep removes what this call cannot.
    async fn give_up(&self, id: &FileId) {
        let removed = async {
            self.remove_file(id.as_str(), RemoveFile::Abandoned).await?;
            self.remove_content(id).await
        };
        if let Err(fault) = removed.await {
            tracing::warn!(%fault, "the remains of an upload are removed later");
        }
    }

    /// Removes the content of a removed file, where contents are kept.
    pub(super) async fn remove_content(&self, id: &FileId) -> Result<(), Fault> {
        let Some(blobs) = self.0.files.blobs.get() else { return Ok(()) };
        if let Err(fault) = blobs.remove(&name_of(id)).await {
            // `of_place` logs the fault; the next sweep tries again.
            let _ = of_place(&fault);
            return Ok(());
        }
        self.note_content_gone(id.as_str()).await
    }
}

/// Limits the time of an upload.
async fn in_time<T>(upload: impl Future<Output = T>) -> Result<T, SessionRefusal> {
    timeout(Duration::from_millis(UPLOAD_MS_MAX), upload).await.map_err(|_| too_slow().into())
}
