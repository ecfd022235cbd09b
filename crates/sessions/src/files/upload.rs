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
    refusals::{
        content_mismatch, no_storage, storage_refusal, store_refusal, too_large, too_slow, uploads_full,
    },
    room::UploaderCommand,
};
use crate::{Sessions, refusals::SessionRefusal};

/// The uploading agent and its authority.
pub(super) struct Uploader {
    pub(super) handle: AgentHandle,
    pub(super) authority: Authority,
}

/// What another network says of the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentDeclaration {
    pub(crate) bytes: u64,
    pub(crate) sha256: BlobId,
}

/// The name of a file's content.
pub(crate) fn name_of(id: &FileId) -> OwnName {
    id.as_str().parse().expect("a file id is letters, digits and `_`")
}

/// The digest of an upload: name, media type and content, without the multipart framing.
fn digest_of(declaration: &FileDeclaration, content: &BlobId) -> [u8; 32] {
    let FileDeclaration { name, media_type } = declaration;
    digest(format!("file\n{name}\n{media_type}\n{content}").as_bytes())
}

impl Sessions {
    /// Sets the blob store for file contents. Only the first call has an effect; before it uploads are refused with 501.
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
    pub(crate) fn upload_share(&self, agent: &AgentHandle) -> Result<Share<String>, SessionRefusal> {
        let max = self.0.config.uploads_per_owner_max;
        self.0
            .files
            .uploads
            .take(account_of(&agent.owner_name()), 1)
            .map_err(|error| uploads_full(error, max).into())
    }

    /// Stores a file; with an equal key once.
    pub(super) async fn upload(
        &self,
        uploader: &Uploader,
        declaration: FileDeclaration,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
        key: Option<String>,
    ) -> Result<Executed<UploadedFile>, SessionRefusal> {
        let scope = format!("file/{}", uploader.handle);
        let previous = match &key {
            Some(key) => self.log().read_key(&scope, key).await?,
            None => None,
        };
        if let Some(previous) = previous {
            let bytes_max = self.0.config.file_bytes_max;
            let (id, _) =
                with_time_limit(BlobId::of_pieces(content, bytes_max)).await?.map_err(storage_refusal)?;
            if previous.digest != digest_of(&declaration, &id) {
                return Err(SessionRefusal::new(House::key_reused()));
            }
            let reply = serde_json::from_slice(&previous.outcome)
                .map_err(|error| Fault::Corrupt(format!("an answer under a key: {error}")))?;
            return Ok(Executed { reply, replayed: true, position: None });
        }
        self.store_new(uploader, declaration, content, (key.map(|key| (scope, key)), None)).await
    }

    /// Stores a file that an agent of another network sends with a message, if it is what that network declares.
    pub(crate) async fn store_peer_file(
        &self,
        guest: &AgentHandle,
        (declaration, expected): (FileDeclaration, ContentDeclaration),
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
    ) -> Result<FileId, SessionRefusal> {
        let identity = GuestIdentity::of_signed(guest.clone(), None);
        let principal = identity.ok_or_else(Refusal::not_found)?.principal();
        let authority = Authority { by: principal.who.into(), token: Some(principal.token) };
        let uploader = Uploader { handle: guest.clone(), authority };
        Ok(self.store_new(&uploader, declaration, content, (None, Some(expected))).await?.reply.id)
    }

    /// Stores a new file, under a key in its scope.
    async fn store_new(
        &self,
        uploader: &Uploader,
        declaration: FileDeclaration,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
        (key, expected): (Option<(String, String)>, Option<ContentDeclaration>),
    ) -> Result<Executed<UploadedFile>, SessionRefusal> {
        let id = FileId::mint(&self.0.streams.clock().stamp(), 0);
        let begin = BeginUpload { by: uploader.handle.clone() };
        let begin =
            UploaderCommand { accounts: self.accounts(), authority: &uploader.authority, command: &begin };
        self.0.files.streams.begin(id.as_str(), &begin, None).await?;
        let (sha256, bytes) = match self.write_content(uploader, &id, content, expected.as_ref()).await {
            Ok(content_record) => content_record,
            Err(refusal) => {
                self.discard_upload(&id).await;
                return Err(refusal);
            }
        };
        let key = key.map(|(scope, key)| KeyUse { scope, key, digest: digest_of(&declaration, &sha256) });
        let unnamed_ms_max = self.0.config.file_unnamed_ms_max;
        let store =
            KeepFile { id: id.clone(), declaration, bytes, sha256: sha256.to_string(), unnamed_ms_max };
        let store =
            UploaderCommand { accounts: self.accounts(), authority: &uploader.authority, command: &store };
        let result = self.0.files.streams.execute(id.as_str(), &store, key.as_ref()).await;
        match &result {
            Ok(result) if result.reply.id == id => {}
            // The file may be stored nevertheless.
            Err(ExecuteError::Fault(_)) => {}
            // The command was refused, or another request used the key first.
            Ok(_) | Err(_) => self.discard_upload(&id).await,
        }
        Ok(result?)
    }

    /// Writes a content to disk; returns its SHA-256 and its size.
    async fn write_content(
        &self,
        uploader: &Uploader,
        id: &FileId,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
        expected: Option<&ContentDeclaration>,
    ) -> Result<(BlobId, u64), SessionRefusal> {
        let bytes_max = self.0.config.file_bytes_max;
        let account = account_of(&uploader.handle.owner_name());
        let remaining = self.log().bytes_left(&account).await?.filter(|remaining| *remaining < bytes_max);
        let exceeded = || self.log().ledger().exceeded(&account, remaining?).map(quota_refusal);
        let limit_refusal = || exceeded().unwrap_or_else(|| too_large(bytes_max));
        let max = remaining.unwrap_or(bytes_max);
        if expected.is_some_and(|expected| expected.bytes > max) {
            return Err(limit_refusal().into());
        }
        let name = name_of(id);
        let max = expected.map_or(max, |expected| expected.bytes);
        let result = with_time_limit(self.contents()?.write(&name, content, max)).await?;
        let result = result.map_err(|error| match (error, expected) {
            (PutError::TooLarge { .. }, Some(_)) => content_mismatch(),
            (PutError::TooLarge { .. }, None) => limit_refusal(),
            (error, _) => storage_refusal(error),
        })?;
        match expected {
            Some(expected) if (&expected.sha256, expected.bytes) != (&result.0, result.1) => {
                Err(content_mismatch().into())
            }
            Some(_) | None => Ok(result),
        }
    }

    /// Discards an upload. A sweep removes what this call cannot.
    pub(crate) async fn discard_upload(&self, id: &FileId) {
        let removal = async {
            self.remove_file(id.as_str(), RemoveFile::Abandoned).await?;
            self.remove_content(id).await
        };
        if let Err(fault) = removal.await {
            tracing::warn!(%fault, "the remains of an upload are removed later");
        }
    }

    /// Removes the content of a removed file, where contents are kept.
    pub(super) async fn remove_content(&self, id: &FileId) -> Result<(), Fault> {
        let Some(blobs) = self.0.files.blobs.get() else { return Ok(()) };
        if let Err(fault) = blobs.remove(&name_of(id)).await {
            // `store_refusal` logs the fault; the next sweep tries again.
            let _ = store_refusal(&fault);
            return Ok(());
        }
        self.note_content_removed(id.as_str()).await
    }
}

async fn with_time_limit<T>(upload: impl Future<Output = T>) -> Result<T, SessionRefusal> {
    timeout(Duration::from_millis(UPLOAD_MS_MAX), upload).await.map_err(|_| too_slow().into())
}
