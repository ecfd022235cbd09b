//! The refusals of uploads and files.
//! Must not know: their conditions.

use plenary_blobs::{Fault, PutError};
use plenary_kernel::{Class, FileId, Refusal, SharesFull};

use super::decide::FileRejection;
use crate::refusals::SessionRefusal;

impl From<FileRejection> for SessionRefusal {
    fn from(rejection: FileRejection) -> Self {
        Self::new(match rejection {
            FileRejection::Unauthenticated => {
                Refusal::new(Class::Unauthenticated, "invalid_authorization", "The token is no longer valid.")
            }
            FileRejection::UploadDiscarded => too_slow(),
        })
    }
}

/// No blob store is configured.
pub(super) fn no_storage() -> Refusal {
    let text = "This server does not store files; its operator can set a place for them with --blobs.";
    Refusal::new(Class::NotImplemented, "not_implemented", text)
}

pub(super) fn too_slow() -> Refusal {
    Refusal::new(Class::Timeout, "request_timeout", "The upload took too long; nothing was stored.")
}

pub(super) fn too_large(bytes_max: u64) -> Refusal {
    Refusal::new(Class::TooLarge, "body_too_large", format!("The file is larger than {bytes_max} bytes."))
}

/// What another network sends is not what it declares.
pub(super) fn content_mismatch() -> Refusal {
    tracing::warn!("a file of another network is not what that network says");
    file_not_sent()
}

/// Another network does not send a file, or not all of it.
pub fn file_not_sent() -> Refusal {
    let text = "The network of the sender does not send the file.";
    Refusal::new(Class::Unavailable, "peer_unreachable", text)
}

pub(super) fn uploads_full(error: SharesFull, max: usize) -> Refusal {
    match error {
        SharesFull::Key => {
            let text = format!(
                "The owner has {max} uploads in progress, the maximum (uploads_per_owner_max); retry when \
                 one has ended."
            );
            Refusal::new(Class::TooMany, "too_many_uploads", text)
        }
        SharesFull::Total => Refusal::new(
            Class::Unavailable,
            "overloaded",
            "The server is overloaded; nothing was done. Retry.",
        ),
    }
}

/// A content that was not stored; the caller handles one that is too large, because it knows the limit.
pub(super) fn storage_refusal(error: PutError<Refusal>) -> Refusal {
    match error {
        PutError::Content(refusal) => refusal,
        PutError::TooLarge { bytes_max } => too_large(bytes_max),
        PutError::Fault(fault) => store_refusal(&fault),
        PutError::Busy | PutError::Mismatch(_) => Refusal::new(
            Class::Unavailable,
            "too_many_puts",
            "Too many uploads at the same time; nothing was stored. Retry.",
        ),
    }
}

/// The blob store failed.
pub(crate) fn store_refusal(fault: &Fault) -> Refusal {
    tracing::error!(%fault, "a file cannot be stored or read");
    match fault {
        Fault::Unavailable(_) => {
            Refusal::new(Class::Unavailable, "unavailable", "The file store cannot be reached. Retry.")
        }
        Fault::Full => {
            Refusal::new(Class::StorageFull, "storage_full", "The store is full; nothing was stored.")
        }
        Fault::Damaged(_) => {
            Refusal::new(Class::Internal, "content_damaged", "The stored file does not match its hash.")
        }
    }
}

/// The server has a file, but its storage does not have the content, as after a restore without the blobs.
pub(super) fn missing_file(id: &FileId) -> Refusal {
    tracing::error!(file = %id, "the content of a file is missing from the storage");
    let text = "The file's content is missing from the server's storage.";
    Refusal::new(Class::Internal, "content_damaged", text)
}

/// The content of a file is not what was uploaded.
pub(super) fn damaged_file(id: &FileId) -> Refusal {
    tracing::error!(file = %id, "the content of a file is damaged");
    Refusal::new(Class::Internal, "content_damaged", "The file is damaged.")
}

/// A message names a file that is absent or that its sender may not read; both look the same.
pub(crate) fn unknown_file() -> Refusal {
    Refusal::malformed("unknown_file", "A `file_id` in `content` does not name a file that you may read.")
}

/// A message names a file that too many sessions have.
pub(crate) fn named_too_often() -> Refusal {
    let text = "Too many sessions have messages with this file; upload it again.";
    Refusal::conflict("file_named_too_often", text)
}
