//! Blobs of deliverables: upload and download, by project.
//! Must not know: HTTP.

use std::ops::Range;

use bytes::Bytes;
use futures_util::Stream;
use plenary_accounts::{Actor, Authority};
use plenary_blobs::{BlobId, Blobs, Content, PutError, StagedBlob};
use plenary_engine::{Executed, of_request, usage_of};
use plenary_kernel::Refusal;
use plenary_log::{Batch, Charge, Fault, Order, Pledge, Usage, account_of};
use plenary_telemetry::in_current_scope;

use crate::{
    Context, Failure,
    blob::{
        command::KeepBlob,
        decide::may_keep,
        event::BlobKept,
        room::{BlobRoom, KeepBlobWith},
    },
    index::BLOBS,
    key,
    malformed::ContextFault,
    project_names::ResolvedProject,
    rejection::{BlobRejection, Rejection},
};

/// A failure of an upload or download.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobFailure {
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The request body could not be read.
    #[error("the body was refused")]
    Body(Refusal),
    /// The blob store failed.
    #[error(transparent)]
    Blobs(#[from] plenary_blobs::Fault),
}

impl From<Rejection> for BlobFailure {
    fn from(rejection: Rejection) -> Self {
        Self::Failure(rejection.into())
    }
}

impl From<BlobRejection> for BlobFailure {
    fn from(rejection: BlobRejection) -> Self {
        Rejection::from(rejection).into()
    }
}

impl From<Fault> for BlobFailure {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault.into())
    }
}

/// The result of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PutReceipt {
    /// Whether the blob is new to the project.
    pub(crate) is_new: bool,
    pub(crate) bytes: u64,
}

impl Context {
    /// The blob store; without one the capability is missing (AP-79).
    fn contents(&self) -> Result<&Blobs, Rejection> {
        self.blobs().ok_or(Rejection::NotImplemented("blob_storage"))
    }

    /// The key of a project to which the bearer may add a blob; checked before the body is read.
    pub(crate) async fn may_put(
        &self,
        project_id: &str,
        authority: &Authority,
    ) -> Result<String, BlobFailure> {
        self.contents()?;
        let ResolvedProject { key, .. } = self.place(&authority.by, project_id, None).await?;
        let project = self.in_project(&key, authority, &mut Vec::new()).await?;
        may_keep(&project, &authority.by)?;
        Ok(key)
    }

    /// Stores a blob: pledges its bytes against the owner's quota, stores them, then adds the blob to the project.
    /// These steps continue when the client disconnects, so that no stored bytes remain uncounted.
    pub(crate) async fn put_blob(
        &self,
        project: &str,
        authority: Authority,
        id: &BlobId,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
    ) -> Result<PutReceipt, BlobFailure> {
        let bytes_max = self.config().blob_bytes_max;
        let bytes_left =
            self.bytes_left_for(project, &authority, id).await?.filter(|bytes_left| *bytes_left < bytes_max);
        let upload_max = bytes_left.unwrap_or(bytes_max);
        let account = authority.by.owner().map(|owner| account_of(&owner)).unwrap_or_default();
        let exceeded = bytes_left.and_then(|bytes_left| self.log().ledger().exceeded(&account, bytes_left));
        let staged_blob =
            self.contents()?.stage(id, content, upload_max).await.map_err(|error| match error {
                PutError::Mismatch(_) => Rejection::from(ContextFault::other_content()).into(),
                PutError::TooLarge { bytes_max } => match exceeded {
                    Some(exceeded) => Failure::OverQuota(exceeded).into(),
                    None => BlobRejection::TooLarge(bytes_max).into(),
                },
                PutError::Busy => BlobRejection::TooManyPuts.into(),
                PutError::Content(refusal) => BlobFailure::Body(refusal),
                PutError::Fault(fault) => fault.into(),
            })?;
        let (context, project, id) = (self.clone(), project.to_owned(), *id);
        let upload = async move { context.keep_blob(&project, authority, &id, staged_blob).await };
        let receipt = tokio::spawn(in_current_scope(of_request(upload))).await;
        receipt.unwrap_or_else(|error| Err(Fault::OutcomeUnknown(error.to_string()).into()))
    }

    async fn keep_blob(
        &self,
        project: &str,
        authority: Authority,
        id: &BlobId,
        staged_blob: StagedBlob,
    ) -> Result<PutReceipt, BlobFailure> {
        let bytes = staged_blob.bytes();
        let stream = key::join(&[project, &id.to_string()]);
        let pledge = match self.pledge_blob(project, &stream, &authority, bytes).await {
            Ok(pledge) => pledge,
            Err(failure) => {
                staged_blob.abort().await;
                return Err(failure);
            }
        };
        let stored = staged_blob.keep().await;
        let command = KeepBlob { authority, bytes };
        let command_in_context = KeepBlobWith { context: self, project, command: &command };
        let done = match stored {
            Ok(_) => {
                self.blob_states().execute(&stream, &command_in_context, None).await.map_err(Failure::from)
            }
            Err(fault) => {
                pledge.into_iter().for_each(Pledge::release);
                return Err(fault.into());
            }
        };
        if let Some(pledge) = pledge {
            self.settle_blob(pledge, &done, &command).await;
        }
        Ok(PutReceipt { is_new: done?.reply, bytes })
    }

    /// Pledges the bytes of a blob, if the bearer may still add it; `None` if no owner is charged, or the project has
    /// it already.
    async fn pledge_blob(
        &self,
        project: &str,
        stream: &str,
        authority: &Authority,
        bytes: u64,
    ) -> Result<Option<Pledge>, BlobFailure> {
        let in_project = self.in_project(project, authority, &mut Vec::new()).await?;
        may_keep(&in_project, &authority.by)?;
        let Some(owner) = authority.by.owner() else { return Ok(None) };
        let (state, version) = self.blob_states().state(stream).await?;
        if state.is_kept {
            return Ok(None);
        }
        let event = BlobKept { by: authority.by.clone(), bytes };
        let usage = usage_of::<BlobRoom>(stream, version.next(), &event);
        let charge = Charge::of_owner(&owner, usage);
        Ok(Some(self.log().pledge(&charge, false).await?.map_err(Failure::OverQuota)?))
    }

    /// Releases the pledge, because the command has charged the blob. If the command was rejected, the bytes stay
    /// stored and are charged anyway: otherwise an owner could fill the disk free of charge by revoking its own right
    /// at that moment.
    async fn settle_blob(&self, pledge: Pledge, done: &Result<Executed<bool>, Failure>, command: &KeepBlob) {
        if !matches!(done, Err(Failure::Rejected(_))) {
            return pledge.release();
        }
        let usage = Usage { bytes: command.bytes, events: 0 };
        let charge = command.authority.by.owner().map(|owner| Charge::of_owner(&owner, usage));
        let batch = Batch { charges: charge.into_iter().collect(), ..Batch::default() };
        pledge.settle(&self.log().append(batch).await);
    }

    /// The bytes that the bearer's owner may still store, as a limit for the upload. `None` if the project already has
    /// the blob: uploading it again only repairs it.
    async fn bytes_left_for(
        &self,
        project: &str,
        authority: &Authority,
        id: &BlobId,
    ) -> Result<Option<u64>, BlobFailure> {
        let Some(owner) = authority.by.owner() else { return Ok(None) };
        let stream = key::join(&[project, &id.to_string()]);
        if self.blob_states().state(&stream).await?.0.is_kept {
            return Ok(None);
        }
        Ok(self.log().bytes_left(&account_of(&owner)).await?)
    }

    /// The size of a blob of the project.
    pub(crate) async fn blob_size(
        &self,
        project_id: &str,
        by: &Actor,
        id: &BlobId,
    ) -> Result<u64, BlobFailure> {
        self.contents()?;
        let (project, _) = self.readable(project_id, by).await?;
        let key = key::join(&[&project, &id.to_string()]);
        let rows = self.log().read_index(BLOBS, &key, None, 1, Order::Ascending).await?;
        let row = rows.first().ok_or(BlobRejection::NotFound)?;
        let bytes = std::str::from_utf8(&row.value).ok().and_then(|bytes| bytes.parse().ok());
        Ok(bytes.ok_or_else(|| Fault::Corrupt(format!("{key} in {BLOBS}")))?)
    }

    /// A blob, or a range of it. Call [`Context::blob_size`] first, which checks that the project has it.
    pub(crate) async fn blob(
        &self,
        id: &BlobId,
        bytes: u64,
        range: Option<Range<u64>>,
    ) -> Result<Content, BlobFailure> {
        let content = self.contents()?.get(id, range).await?;
        // A missing blob, or one of another size, is damaged; this is detected before the first byte is sent.
        match content.filter(|content| content.bytes == bytes) {
            Some(content) => Ok(content),
            None => Err(plenary_blobs::Fault::Damaged(*id).into()),
        }
    }
}
