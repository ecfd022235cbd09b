//! The lock-shaped announcements (FO-18 to FO-21): information, never authority.
//! Must not know: the current claims; `leases` correlates them.

use serde::{Deserialize, Serialize};

use crate::frames::Uuid;

/// A claim of a resource (FO-26).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockRequest {
    /// The claimed resource, 1 to 512 bytes.
    pub resource: String,
    /// The id that its release and extensions share.
    pub lease_id: Uuid,
    /// The lifetime of the claim, 1 to 3 600 000 ms.
    pub ttl_ms: u64,
    /// The reason, at most 2048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// The end of a claim (FO-27).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockRelease {
    /// The claim.
    pub lease_id: Uuid,
    /// The claimed resource; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
}

/// The extension of a claim (FO-28).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseExtend {
    /// The claim.
    pub lease_id: Uuid,
    /// The additional lifetime, 1 to 3 600 000 ms.
    pub ttl_ms: u64,
}
