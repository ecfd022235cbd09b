//! The errors of blobs.
//! Must not know: the response to a peer.

use std::io::ErrorKind;

use crate::BlobId;

/// The place of the contents can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenFault(pub(crate) String);

/// A content can't be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The place did not do what it was asked; whether it was done is not known.
    #[error("the blob store failed: {0}")]
    Unavailable(String),
    /// The place is full; nothing was kept.
    #[error("the blob store is full")]
    Full,
    /// What is kept is not what its name says. It is given out to nobody; putting it again mends it.
    #[error("the content {0} does not match its hash")]
    Damaged(BlobId),
}

/// A content was not kept. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum PutError<E> {
    /// It is another content than its name says; this is its own name.
    #[error("the content is {0}")]
    Mismatch(BlobId),
    /// It is larger than it may be.
    #[error("the content is larger than {octets_max} bytes")]
    TooLarge {
        /// The limit.
        octets_max: u64,
    },
    /// Too many contents are being put.
    #[error("too many uploads at the same time")]
    Busy,
    /// It did not come to its end.
    #[error("the content was interrupted")]
    Content(E),
    /// The place failed.
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
