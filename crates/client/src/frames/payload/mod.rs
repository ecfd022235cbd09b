//! The payload of a frame, by kind (wire.md 1.2). The server enforces bounds; shapes are checked strictly here too.
//! Must not know: the envelope.

mod announcements;
mod convergence;
mod locks;
mod queries;

pub use announcements::{Advisory, Broadcast, Handover};
pub use convergence::{FlushExecuted, IntentDeclare, IntentWithdraw};
pub use locks::{LeaseExtend, LockRelease, LockRequest};
pub use queries::{
    BindingMoment, DiagnosticRequest, DiagnosticResponse, Hatches, Query, Question, QuestionOption, Response,
    ReturnEvent,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Kind;

macro_rules! payloads {
    ($($(#[$doc:meta])* $variant:ident($shape:ident) = $kind:ident),+ $(,)?) => {
        /// A payload, by kind: each kind has exactly one shape (FO-2).
        #[derive(Debug, Clone, PartialEq)]
        pub enum Payload { $($(#[$doc])* $variant($shape)),+ }

        impl Payload {
            /// The kind of this shape.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$variant(_) => Kind::$kind),+ }
            }

            /// Parses the payload of a frame of this kind.
            ///
            /// # Errors
            /// When it does not have the kind's shape: a member is missing, unknown or of another type.
            pub fn read(kind: Kind, object: &Map<String, Value>) -> serde_json::Result<Self> {
                match kind { $(Kind::$kind => shape(object).map(Self::$variant)),+ }
            }

            /// Its JSON.
            pub fn to_object(&self) -> Map<String, Value> {
                let value = match self { $(Self::$variant(shape) => serde_json::to_value(shape)),+ };
                match value {
                    Ok(Value::Object(object)) => object,
                    Ok(_) | Err(_) => unreachable!("a shape of texts, numbers and lists is a JSON object"),
                }
            }
        }
    };
}

payloads! {
    /// `agent_advisory`
    Advisory(Advisory) = AgentAdvisory,
    /// `agent_broadcast`
    Broadcast(Broadcast) = AgentBroadcast,
    /// `agent_handover`
    Handover(Handover) = AgentHandover,
    /// `agent_lock_request`
    LockRequest(LockRequest) = AgentLockRequest,
    /// `agent_lock_release`
    LockRelease(LockRelease) = AgentLockRelease,
    /// `agent_lease_extend`
    LeaseExtend(LeaseExtend) = AgentLeaseExtend,
    /// `agent_query`
    Query(Query) = AgentQuery,
    /// `agent_response`
    Response(Response) = AgentResponse,
    /// `agent_return_event`
    ReturnEvent(ReturnEvent) = AgentReturnEvent,
    /// `agent_binding_moment`
    BindingMoment(BindingMoment) = AgentBindingMoment,
    /// `peer_diagnostic_request`
    DiagnosticRequest(DiagnosticRequest) = PeerDiagnosticRequest,
    /// `peer_diagnostic_response`
    DiagnosticResponse(DiagnosticResponse) = PeerDiagnosticResponse,
    /// `intent_declare`
    IntentDeclare(IntentDeclare) = IntentDeclare,
    /// `intent_withdraw`
    IntentWithdraw(IntentWithdraw) = IntentWithdraw,
    /// `flush_executed`
    FlushExecuted(FlushExecuted) = FlushExecuted,
}

fn shape<T: DeserializeOwned>(object: &Map<String, Value>) -> serde_json::Result<T> {
    serde_json::from_value(Value::Object(object.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn examples() -> Vec<Value> {
        let id = "0b9f0d3c-7c5e-4b0e-9a52-3d6a7f2f7a11";
        let time = "2026-05-22T10:00:00Z";
        vec![
            json!({"advisory_text": "x", "file_refs": ["a"], "worktree": "/w", "branch": "b"}),
            json!({"broadcast_text": "x", "event_class": "merged", "refs": ["#1"]}),
            json!({"previous_session_id": "s", "next_session_id": "t", "handover_body": "x", "pointer_refs": ["a"]}),
            json!({"resource": "a", "lease_id": id, "ttl_ms": 1, "intent": "x"}),
            json!({"lease_id": id, "resource": ""}),
            json!({"lease_id": id, "ttl_ms": 1}),
            json!({"query_text": "x", "query_id": id, "response_scope": "~a", "timeout_ms": 1}),
            json!({"query_id": id, "session_id": "s", "response_text": "x", "refs": ["a"]}),
            json!({"return_event_ref": "r", "summary": "x", "query_id": id}),
            json!({"synopsis": "x", "findings": [], "recommendations": ["x"], "offer": "x",
                "question": {"stem": "x", "options": [{"label": "a", "reasoning": "b"}, {"label": "c", "reasoning": "d"}],
                    "recommended_idx": 0, "hatches": {"free_text": true, "dialogue": false}}}),
            json!({"symptom": "x", "diagnostic_id": id, "severity": "info", "substrate_refs": ["a"]}),
            json!({"diagnostic_id": id, "finding": "x", "remediation": "y", "substrate_refs": ["a"]}),
            json!({"convergence_class": "git.pr", "payload_ref": "p", "acted_by": "~a", "drafted_with": "~b",
                "declared_at": time, "ttl": 1, "withdrawable": true, "urgency": "normal"}),
            json!({"convergence_class": "git.pr", "intent_ref": "p", "withdrawn_at": time}),
            json!({"convergence_class": "git.pr", "result_ref": "p", "executed_at": time, "batch_refs": ["a"]}),
        ]
    }

    #[test]
    fn fo_2_every_kind_has_its_shape_and_no_other() {
        for (kind, example) in Kind::ALL.iter().zip(examples()) {
            let object = example.as_object().unwrap();
            let read = Payload::read(*kind, object).unwrap_or_else(|e| panic!("{kind}: {e}"));
            assert_eq!((read.kind(), &read.to_object()), (*kind, object));
            let mut more = object.clone();
            more.insert("colour".into(), json!("red"));
            assert!(Payload::read(*kind, &more).is_err(), "{kind}");
            for other in Kind::ALL.iter().filter(|other| *other != kind) {
                assert!(Payload::read(*other, object).is_err(), "{kind} read as {other}");
            }
        }
    }

    #[test]
    fn fo_40_absent_hatches_are_open_and_not_written() {
        let mut moment = examples()[9].clone();
        moment["question"].as_object_mut().unwrap().remove("hatches");
        let read = Payload::read(Kind::AgentBindingMoment, moment.as_object().unwrap()).unwrap();
        assert_eq!(Value::Object(read.to_object()), moment);
    }
}
