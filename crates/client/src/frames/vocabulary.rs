//! The closed vocabularies of a frame: kinds, event classes, severities, places and results of checks.
//! Must not know: payloads.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value outside a closed vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is an unknown {vocabulary}; the values are {known}")]
pub struct UnknownValue {
    /// The name of the vocabulary.
    pub vocabulary: &'static str,
    /// The unknown value.
    pub text: String,
    /// The known values, separated by commas.
    pub known: String,
}

macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident, $vocabulary:literal, { $($(#[$doc:meta])* $variant:ident = $value:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every value, in the document's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The value on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $value),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownValue;

            fn from_str(text: &str) -> Result<Self, UnknownValue> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let known: Vec<&str> = Self::ALL.iter().map(|value| value.as_str()).collect();
                    UnknownValue { vocabulary: $vocabulary, text: text.to_owned(), known: known.join(", ") }
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

vocabulary! {
    /// The kind of a frame; the catalogue is closed (FO-17).
    Kind, "frame kind", {
        /// What a session is doing.
        AgentAdvisory = "agent_advisory",
        /// What has happened.
        AgentBroadcast = "agent_broadcast",
        /// A handover of work.
        AgentHandover = "agent_handover",
        /// An advisory claim of a resource.
        AgentLockRequest = "agent_lock_request",
        /// The end of a claim.
        AgentLockRelease = "agent_lock_release",
        /// The extension of a claim.
        AgentLeaseExtend = "agent_lease_extend",
        /// A question.
        AgentQuery = "agent_query",
        /// An answer.
        AgentResponse = "agent_response",
        /// The close of a question and its answers.
        AgentReturnEvent = "agent_return_event",
        /// A request for a decision.
        AgentBindingMoment = "agent_binding_moment",
        /// A symptom reported to a peer.
        PeerDiagnosticRequest = "peer_diagnostic_request",
        /// The finding of the peer.
        PeerDiagnosticResponse = "peer_diagnostic_response",
        /// The intent of a costly effect.
        IntentDeclare = "intent_declare",
        /// The withdrawal of an intent.
        IntentWithdraw = "intent_withdraw",
        /// The report that an effect was carried out for several intents.
        FlushExecuted = "flush_executed",
    }
}

vocabulary! {
    /// The coarse class of a broadcast.
    EventClass, "event class", {
        /// A branch was merged.
        Merged = "merged",
        /// Something is out of date.
        Stale = "stale",
        /// Something was released or published.
        Released = "released",
        /// Anything else.
        Other = "other",
    }
}

vocabulary! {
    /// The severity of a symptom.
    Severity, "severity", {
        /// For information.
        Info = "info",
        /// It works badly.
        Degraded = "degraded",
        /// It does not work.
        Blocked = "blocked",
    }
}

vocabulary! {
    /// The urgency of an intent.
    Urgency, "urgency", {
        /// No hurry.
        Normal = "normal",
        /// At once.
        Urgent = "urgent",
    }
}

vocabulary! {
    /// Where the inference behind a frame's content was computed (FO-15).
    ComputeLocation, "compute location", {
        /// On a server, for this frame.
        ServerActive = "server-active",
        /// On a server, over several sources.
        ServerAggregate = "server-aggregate",
        /// On the principal's device, which it never left.
        LocalOnly = "local-only",
    }
}

vocabulary! {
    /// Whether the sender checked that its policy allows the frame here (FO-15).
    ContextCheck, "context check", {
        /// The sender checked it.
        Passed = "passed",
        /// There was nothing to check.
        Skipped = "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fo_17_there_are_fifteen_kinds_and_no_sixteenth() {
        assert_eq!(Kind::ALL.len(), 15);
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse::<Kind>(), Ok(*kind));
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("\"{kind}\""));
        }
        let error = "agent_gossip".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("agent_gossip") && error.contains("flush_executed"), "{error}");
    }
}
