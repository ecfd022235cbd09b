//! The source of time and randomness, as an interface: every room that needs them gets a `Clock`.
//! Must not know: the machine's clock, or any source of randomness.

use crate::{Stamp, TimestampMs};

/// Where stamps come from.
pub trait Clock: Send + Sync + 'static {
    /// The present, by the wall clock.
    fn now(&self) -> TimestampMs;
    /// The present with fresh randomness.
    fn stamp(&self) -> Stamp;
}
