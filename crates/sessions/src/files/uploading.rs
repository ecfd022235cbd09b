//! An upload, from its first byte to the file: started, written to disk while it arrives, stored. A failed upload
//! leaves nothing.
//! Must not know: HTTP, or the form of a body.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use plenary_accounts::{Authority, GuestIdentity};
use plenary_blobs::{BlobId, Blobs, OwnName, PutError};
use plenary_engine::{ExecuteError, Executed, KeyUse, quota_refusal};
use plenary_kernel::{AgentHandle, FileId, Refusal, Share, json::digest};
use plenary_log::{Fault, account_of};
use plenary_room::{Form as _, House};
use tokio::time::timeout;

use super::{
    UPLOAD_MS_MAX,
    command::{BeginUpload, FileDeclaration, KeepFile, RemoveFile, UploadedFile},
    refusals::{differs, full, no_storage, not_kept, of_place, too_large, too_slow},
    room::OfUploader,
};
use crate::{Sessions, refusals::SessionRefusal};

/// The uploading agent and its authority.
pub(super) struct Uploader {
    pub(super) handle: AgentHandle,
    pub(super) authority: Authority,
}

/// What another network says of the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) bytes: u64,
    pub(crate) sha256: BlobId,
}

/// The name of a file's content.
pub(crate) fn name_of(id: &FileId) -> OwnName {
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

    pub(crate) fn contents(&self) -> Result<&Blobs, SessionRefusal> {
        self.0.files.blobs.get().ok_or_else(|| no_storage().into())
    }

    /// A share of the uploads that may be under way.
    pub(crate) fn upload_share(&self, by: &AgentHandle) -> Result<Share<String>, SessionRefusal> {
        let most = self.0.config.uploads_per_owner_max;
        self.0.files.uploads.take(account_of(&by.owner_name()), 1).map_err(|why| full(why, most).into())
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
        self.stored(by, said, content, (key.map(|key| (scope, key)), None)).await
    }

    /// Stores a file that an agent of another network sends with a message, if it is what that network declares.
    pub(crate) async fn take_file(
        &self,
        guest: &AgentHandle,
        (said, declared): (FileDeclaration, Declared),
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
    ) -> Result<FileId, SessionRefusal> {
        let identity = GuestIdentity::of_signed(guest.clone(), None);
        let principal = identity.ok_or_else(Refusal::not_found)?.principal();
        let authority = Authority { by: principal.who.into(), token: Some(principal.token) };
        let by = Uploader { handle: guest.clone(), authority };
        Ok(self.stored(&by, said, content, (None, Some(declared))).await?.reply.id)
    }

    /// Stores a new file, under a key in its scope.
    async fn stored(
        &self,
        by: &Uploader,
        said: FileDeclaration,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
        (key, declared): (Option<(String, String)>, Option<Declared>),
    ) -> Result<Executed<UploadedFile>, SessionRefusal> {
        let id = FileId::mint(&self.0.streams.clock().stamp(), 0);
        let begin = BeginUpload { by: by.handle.clone() };
        let begin = OfUploader { accounts: self.accounts(), authority: &by.authority, command: &begin };
        self.0.files.streams.begin(id.as_str(), &begin, None).await?;
        let (sha256, bytes) = match self.written(by, &id, content, declared.as_ref()).await {
            Ok(written) => written,
            Err(refused) => {
                self.give_up(&id).await;
                return Err(refused);
            }
        };
        let key = key.map(|(scope, key)| KeyUse { scope, key, digest: digest_of(&said, &sha256) });
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
        declared: Option<&Declared>,
    ) -> Result<(BlobId, u64), SessionRefusal> {
        let bytes_max = self.0.config.file_bytes_max;
        let account = account_of(&by.handle.owner_name());
        let left = self.log().bytes_left(&account).await?.filter(|left| *left < bytes_max);
        let exceeded = || self.log().ledger().exceeded(&account, left?).map(quota_refusal);
        let refused = || exceeded().unwrap_or_else(|| too_large(bytes_max));
        let most = left.unwrap_or(bytes_max);
        if declared.is_some_and(|declared| declared.bytes > most) {
            return Err(refused().into());
        }
        let name = name_of(id);
        let most = declared.map_or(most, |declared| declared.bytes);
        let written = in_time(self.contents()?.write(&name, content, most)).await?;
        let written = written.map_err(|error| match (error, declared) {
            (PutError::TooLarge { .. }, Some(_)) => differs(),
            (PutError::TooLarge { .. }, None) => refused(),
            (error, _) => not_kept(error),
        })?;
        match declared {
            Some(declared) if (&declared.sha256, declared.bytes) != (&written.0, written.1) => {
                Err(differs().into())
            }
            Some(_) | None => Ok(written),
        }
    }

    /// Discards an upload. A sweep removes what this call cannot.
    pub(crate) async fn give_up(&self, id: &FileId) {
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
