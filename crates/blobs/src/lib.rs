//! Blobs, stored under their SHA-256 or under a separate name, and verified on write and read; in a directory, a
//! bucket or memory.
//! Must not know: the owner of a blob, its content, or HTTP.

mod blobs;
mod fault;
mod id;
mod integrity;
mod leftovers;
mod location;
mod marks;
mod own;
#[cfg(feature = "s3")]
mod s3;
#[cfg(test)]
mod tests;
mod upload;
mod verified;

pub use blobs::{Blobs, Content, StagedBlob};
pub use fault::{Fault, OpenFault, PutError};
pub use id::{BlobId, NotABlobId};
pub use integrity::BlobCheck;
pub use leftovers::STAGING_AGE_MIN;
pub use location::{Location, NotALocation};
pub use own::{NotAName, OwnName};

/// Largest blob by default; beyond it a put is refused.
pub const BLOB_BYTES_MAX: u64 = 64 << 20;
/// Largest blob that is read whole and verified before its first byte is returned. A larger one is
/// verified during the transfer: its last bytes follow only if the hash is right.
pub const WHOLE_BYTES_MAX: u64 = 1 << 20;
/// Most bytes of all current uploads in memory; beyond it the next put waits.
pub const PUT_BUFFER_BYTES_MAX: usize = 128 << 20;
/// How long a put waits for its turn; beyond it it is refused as busy.
pub const PUT_WAIT: std::time::Duration = std::time::Duration::from_secs(5);
