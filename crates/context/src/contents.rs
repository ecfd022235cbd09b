//! Contents of deliverables: put, and got, project by project.
//! Must not know: HTTP.

use std::ops::Range;

use bytes::Bytes;
use futures_util::Stream;
use plenary_accounts::{Actor, Authority};
use plenary_blobs::{BlobId, Blobs, Content, PutError};
use plenary_kernel::Refusal;
use plenary_log::{Fault, Order};

use crate::{
    Context, Failure,
    blob::{command::KeepBlob, decide::may_keep, room::Keeping},
    index::BLOBS,
    key,
    malformed::Malformed,
    naming::Place,
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
        let octets = self.contents()?.put(id, content, octets_max).await.map_err(|error| match error {
            PutError::Mismatch(_) => Rejection::from(Malformed::other_content()).into(),
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
