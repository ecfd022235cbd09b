//! The errors of blobs.
//! Must not know: the response to a peer.

use std::io::ErrorKind;

use crate::BlobId;

/// The storage location can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenFault(pub(crate) String);

/// A blob can't be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The store failed; it is unknown whether the operation was carried out.
    #[error("the blob store failed: {0}")]
    Unavailable(String),
    /// The store is full; nothing was stored.
    #[error("the blob store is full")]
    Full,
    /// The stored bytes do not match the hash. They are never returned; putting the blob again repairs
    /// it.
    #[error("the content {0} does not match its hash")]
    Damaged(BlobId),
}

/// The blob was not stored. Nothing of it remains.
#[derive(Debug, thiserror::Error)]
pub enum PutError<E> {
    /// The bytes have another hash, which is this.
    #[error("the content is {0}")]
    Mismatch(BlobId),
    /// It is larger than the limit.
    #[error("the content is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// Too many uploads are in progress.
    #[error("too many uploads at the same time")]
    Busy,
    /// The upload was interrupted.
    #[error("the content was interrupted")]
    Content(E),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<object_store::Error> for Fault {
    fn from(error: object_store::Error) -> Self {
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(cause) = source {
            let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            if matches!(io, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge))
            {
                return Self::Full;
            }
            source = cause.source();
        }
        Self::Unavailable(error.to_string())
    }
}
