//! The convergence announcements (FO-22): several sessions batch a costly effect without a coordinator.
//! Must not know: the session that performs the effect.

use plenary_kernel::SovereignHandle;
use serde::{Deserialize, Serialize};

use crate::frames::Urgency;

/// A costly effect is meant (FO-35).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentDeclare {
    /// A name with a namespace, 1 to 128 bytes.
    pub convergence_class: String,
    /// A reference to the effect (FO-41).
    pub payload_ref: String,
    /// On whose behalf.
    pub acted_by: SovereignHandle,
    /// The agent runtime.
    pub drafted_with: String,
    /// RFC 3339 with a zone.
    pub declared_at: String,
    /// The lifetime of the intent in milliseconds (FO-89).
    pub ttl: u64,
    /// Whether it may be withdrawn.
    pub withdrawable: bool,
    /// How soon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
}

/// An effect is no longer meant (FO-36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentWithdraw {
    /// As declared.
    pub convergence_class: String,
    /// The declared intent.
    pub intent_ref: String,
    /// RFC 3339 with a zone.
    pub withdrawn_at: String,
}

/// The effect was carried out for several (FO-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushExecuted {
    /// As declared.
    pub convergence_class: String,
    /// What came of it.
    pub result_ref: String,
    /// The intents it took in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_refs: Option<Vec<String>>,
    /// RFC 3339 with a zone.
    pub executed_at: String,
}
