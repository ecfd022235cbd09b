//! Blobs, stored under their SHA-256 or under a separate name, and verified on write and read; in a directory, a
//! bucket or memory.
//! Must not know: the owner of a blob, its content, or HTTP.

mod blobs;
mod checking;
mod fault;
mod id;
mod marks;
mod own;
mod place;
#[cfg(feature = "s3")]
mod s3;
mod staging;
#[cfg(test)]
mod tests;
mod verified;
mod writing;

pub use blobs::{Blobs, Content, StagedBlob};
pub use checking::BlobCheck;
pub use fault::{Fault, OpenFault, PutError};
pub use id::{BlobId, NotABlobId};
pub use own::{NotAName, OwnName};
pub use place::{NotAPlace, Place};
pub use staging::STAGING_AGE_MIN;

/// Largest content unless it is said otherwise; past it a put is refused.
pub const BLOB_OCTETS_MAX: u64 = 64 << 20;
/// Largest content that is read whole and verified before its first byte is given out. A larger one is verified while
/// it is given out: its last bytes come only if they are right.
pub const WHOLE_OCTETS_MAX: u64 = 1 << 20;
/// Bytes of all contents that are being put which may be in memory; past it the next put waits.
pub const PUT_BUFFER_OCTETS_MAX: usize = 128 << 20;
/// How long a put waits for its turn; past it it is refused as busy.
pub const PUT_WAIT: std::time::Duration = std::time::Duration::from_secs(5);
