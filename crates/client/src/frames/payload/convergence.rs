//! The convergence announcements (FO-22): several sessions batch a costly effect without a coordinator.
//! Must not know: the session that performs the effect.

use plenary_kernel::SovereignHandle;
use serde::{Deserialize, Serialize};

use crate::frames::Urgency;

/// Announces the intent of a costly effect (FO-35).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentDeclare {
    /// A name with a namespace, 1 to 128 bytes.
    pub convergence_class: String,
    /// A reference to the effect (FO-41).
    pub payload_ref: String,
    /// The owner on whose behalf it is announced.
    pub acted_by: SovereignHandle,
    /// The agent runtime.
    pub drafted_with: String,
    /// RFC 3339 with a zone.
    pub declared_at: String,
    /// The lifetime of the intent in milliseconds (FO-89).
    pub ttl: u64,
    /// Whether it may be withdrawn.
    pub withdrawable: bool,
    /// The urgency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
}

/// Withdraws an intent (FO-36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentWithdraw {
    /// The class of the declaration.
    pub convergence_class: String,
    /// The declared intent.
    pub intent_ref: String,
    /// RFC 3339 with a zone.
    pub withdrawn_at: String,
}

/// Reports that an effect was carried out for several intents (FO-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushExecuted {
    /// The class of the declaration.
    pub convergence_class: String,
    /// A reference to the result.
    pub result_ref: String,
    /// The intents that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_refs: Option<Vec<String>>,
    /// RFC 3339 with a zone.
    pub executed_at: String,
}
