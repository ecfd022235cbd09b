//! Contents of deliverables: put, and got, project by project.
//! Must not know: HTTP.

use std::ops::Range;

use bytes::Bytes;
use futures_util::Stream;
use plenary_accounts::{Actor, Authority};
use plenary_blobs::{BlobId, Blobs, Content, PutError};
use plenary_kernel::Refusal;
use plenary_log::{Exceeded, Fault, Order};

use crate::{
    Context, Failure,
    blob::{command::KeepBlob, decide::may_keep, room::Keeping},
    index::BLOBS,
    key,
    malformed::Malformed,
    naming::Place,
    project::decide::owner_of,
    rejection::{BlobRejection, Rejection},
};

/// Why a content is neither put nor got.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobFailure {
    #[error(transparent)]
    Failure(#[from] Failure),
    /// Its body is no body.
    #[error("the body was refused")]
    Body(Refusal),
    /// Where contents are kept failed.
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

/// A content that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Whether the project did not have it.
    pub(crate) is_new: bool,
    pub(crate) octets: u64,
}

impl Context {
    /// Where contents are kept; without that the capability is not there (AP-79).
    fn contents(&self) -> Result<&Blobs, Rejection> {
        self.blobs().ok_or(Rejection::NotImplemented("blob_storage"))
    }

    /// The key of a project into which the bearer may put a content, before any of it is read.
    pub(crate) async fn may_put(
        &self,
        project_id: &str,
        authority: &Authority,
    ) -> Result<String, BlobFailure> {
        self.contents()?;
        let Place { key, .. } = self.place(&authority.by, project_id, None).await?;
        let project = self.in_project(&key, authority, &mut Vec::new()).await?;
        may_keep(&project, &authority.by)?;
        Ok(key)
    }

    /// Puts a content. Its octets are kept before the project has it: what is put by somebody whose right goes
    /// meanwhile is nobody's.
    pub(crate) async fn put_blob(
        &self,
        project: &str,
        authority: Authority,
        id: &BlobId,
        content: impl Stream<Item = Result<Bytes, Refusal>> + Send,
    ) -> Result<Kept, BlobFailure> {
        let octets_max = self.config().blob_octets_max;
        let left = self.left_for(project, &authority, id).await?.filter(|left| *left < octets_max);
        let most = left.unwrap_or(octets_max);
        let octets = self.contents()?.put(id, content, most).await.map_err(|error| match error {
            PutError::Mismatch(_) => Rejection::from(Malformed::other_content()).into(),
            PutError::TooLarge { .. } if left.is_some() => self.over_quota(most),
            PutError::TooLarge { octets_max } => BlobRejection::TooLarge(octets_max).into(),
            PutError::Busy => BlobRejection::TooManyPuts.into(),
            PutError::Content(refusal) => BlobFailure::Body(refusal),
            PutError::Fault(fault) => fault.into(),
        })?;
        let command = KeepBlob { authority, octets };
        let keeping = Keeping { context: self, project, command: &command };
        let stream = key::join(&[project, &id.to_string()]);
        let done = self.blob_states().execute(&stream, &keeping, None).await.map_err(Failure::from)?;
        Ok(Kept { is_new: done.reply, octets })
    }

    /// How many bytes the bearer's owner may still store, so that no more is kept of a content than it may have.
    /// `None` if the project already has the content: uploading it again only repairs it.
    async fn left_for(
        &self,
        project: &str,
        authority: &Authority,
        id: &BlobId,
    ) -> Result<Option<u64>, BlobFailure> {
        let Some(owner) = owner_of(&authority.by) else { return Ok(None) };
        let stream = key::join(&[project, &id.to_string()]);
        if self.blob_states().state(&stream).await?.0.is_kept {
            return Ok(None);
        }
        Ok(self.log().bytes_left(owner.as_str()).await?)
    }

    /// A content is larger than what its owner may still store.
    fn over_quota(&self, left: u64) -> BlobFailure {
        let max = self.log().ledger().max().map_or(0, |max| max.bytes);
        Failure::OverQuota(Exceeded::Bytes { used: max.saturating_sub(left), max }).into()
    }

    /// How large a content of the project is.
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
        let octets = std::str::from_utf8(&row.value).ok().and_then(|octets| octets.parse().ok());
        Ok(octets.ok_or_else(|| Fault::Corrupt(format!("{key} in {BLOBS}")))?)
    }

    /// A content, or a range of it, of which [`Context::blob_size`] has said that the project has it.
    pub(crate) async fn blob(
        &self,
        id: &BlobId,
        octets: u64,
        range: Option<Range<u64>>,
    ) -> Result<Content, BlobFailure> {
        let found = self.contents()?.get(id, range).await?;
        // What is gone or has another size is damaged, and is known to be before the first octet.
        match found.filter(|content| content.octets == octets) {
            Some(content) => Ok(content),
            None => Err(plenary_blobs::Fault::Damaged(*id).into()),
        }
    }
}
