//! The current time: the creation time of a frame (FO-12), and the check of its lifetime (FO-82).
//! Must not know: frames.

use plenary_kernel::TimestampMs;

/// The current time.
#[expect(clippy::disallowed_methods, reason = "a client stands outside the server and has no Stamp")]
pub fn now() -> TimestampMs {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    TimestampMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
