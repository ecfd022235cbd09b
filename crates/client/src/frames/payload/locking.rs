//! The lock-shaped announcements (FO-18 to FO-21): information, never authority.
//! Must not know: the current claims; `leases` correlates them.

use serde::{Deserialize, Serialize};

use crate::frames::Uuid;

/// A claim of a resource (FO-26).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockRequest {
    /// What is claimed, 1 to 512 bytes.
    pub resource: String,
    /// Correlates it with its release and extensions.
    pub lease_id: Uuid,
    /// How long the claim holds, 1 to 3 600 000 ms.
    pub ttl_ms: u64,
    /// Why, at most 2048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// The end of a claim (FO-27).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockRelease {
    /// Which claim.
    pub lease_id: Uuid,
    /// What was claimed; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
}

/// A claim goes on (FO-28).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseExtend {
    /// Which claim.
    pub lease_id: Uuid,
    /// The additional lifetime, 1 to 3 600 000 ms.
    pub ttl_ms: u64,
}
