//! The interface to time and randomness. A room that needs them gets a `Clock`.
//! Must not know: the machine's clock, or any source of randomness.

use crate::{Stamp, TimestampMs};

/// The source of stamps.
pub trait Clock: Send + Sync + 'static {
    /// The current wall-clock time.
    fn now(&self) -> TimestampMs;
    /// The current time with fresh randomness.
    fn stamp(&self) -> Stamp;
}
