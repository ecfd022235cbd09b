//! What is said of an upload or a file that is refused.
//! Must not know: when that is.

use plenary_blobs::{Fault, PutError};
use plenary_kernel::{Class, Refusal, SharesFull};

use super::decide::FileRejection;
use crate::refusals::Refused;

impl From<FileRejection> for Refused {
    fn from(rejection: FileRejection) -> Self {
        Self::new(match rejection {
            FileRejection::Unauthenticated => Refusal::new(
                Class::Unauthenticated,
                "invalid_authorization",
                "The token is not valid any more.",
            ),
            FileRejection::GivenUp => too_slow(),
        })
    }
}

/// Nobody has said where contents are kept.
pub(super) fn no_storage() -> Refusal {
    let text = "This server keeps no files; its operator can say where they go with --blobs.";
    Refusal::new(Class::NotImplemented, "not_implemented", text)
}

pub(super) fn too_slow() -> Refusal {
    Refusal::new(Class::Timeout, "request_timeout", "The upload took too long; nothing was kept.")
}

pub(super) fn too_large(bytes_max: u64) -> Refusal {
    Refusal::new(Class::TooLarge, "body_too_large", format!("The file is over {bytes_max} bytes."))
}

pub(super) fn full(full: SharesFull, most: usize) -> Refusal {
    match full {
        SharesFull::Key => {
            let text = format!(
                "The owner has as many uploads under way as it may have (uploads_per_owner_max, {most}); try again when \
                 one has ended."
            );
            Refusal::new(Class::TooMany, "too_many_uploads", text)
        }
        SharesFull::Total => {
            Refusal::new(Class::Unavailable, "overloaded", "Too much is under way; nothing was done. Retry.")
        }
    }
}

/// A content that was not kept; one that is too large is the business of whoever knows why.
pub(super) fn not_kept(error: PutError<Refusal>) -> Refusal {
    match error {
        PutError::Content(refusal) => refusal,
        PutError::TooLarge { octets_max } => too_large(octets_max),
        PutError::Fault(fault) => of_place(&fault),
        PutError::Busy | PutError::Mismatch(_) => {
            Refusal::new(Class::Unavailable, "too_many_puts", "Too many files are being kept. Retry.")
        }
    }
}

/// The place of the contents failed.
pub(super) fn of_place(fault: &Fault) -> Refusal {
    tracing::error!(%fault, "a file can't be kept or given out");
    match fault {
        Fault::Unavailable(_) => {
            Refusal::new(Class::Unavailable, "unavailable", "The files can't be reached. Retry.")
        }
        Fault::Full => {
            Refusal::new(Class::StorageFull, "storage_full", "The store is full; nothing was kept.")
        }
        Fault::Damaged(_) => {
            Refusal::new(Class::Internal, "content_damaged", "What is stored of the file is not what it was.")
        }
    }
}

/// A message names a file that there is not, or that its sender may not read: never told apart.
pub(crate) fn unknown_file() -> Refusal {
    Refusal::malformed("unknown_file", "A `file_id` in `content` names no file that you may read.")
}

/// A message names a file that too many sessions have.
pub(crate) fn named_too_often() -> Refusal {
    let text = "Too many sessions have messages that name this file; upload it once more.";
    Refusal::conflict("file_named_too_often", text)
}
