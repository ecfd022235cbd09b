//! Reconstructed: the published page of the memo lost these payload tables (sections 5.5, 5.6, 5.8 and the second of
//! 5.11). These follow the catalogue's text, the sibling kinds and the frames of existing clients; names and bounds
//! that the page does not give are our choice (wire.md 1.2, 1.5 row 1). If the lost tables turn up, they replace
//! these.
//! Must not know: the use of a definition.

use crate::{
    catalogue::{KindDef, LEASE, SESSION},
    limits::{REFERENCE_BYTES_MAX, TEXT_BYTES_MAX},
    shape::{Form, PROSE, REFERENCES, Shape, bounds, optional, required},
};

pub(crate) static RECONSTRUCTED: &[KindDef] = &[
    KindDef {
        name: "agent_lock_release",
        description: "A session announces that it released a lease.",
        shape: Shape {
            fields: &[
                required("lease_id", Form::Uuid, "The lease."),
                // An existing client sends an empty one.
                optional("resource", Form::Text(bounds(0, REFERENCE_BYTES_MAX)), "The claimed resource."),
            ],
            rules: &[],
        },
        decay: None,
    },
    KindDef {
        name: "agent_lease_extend",
        description: "A session announces that it extends a lease.",
        shape: Shape {
            fields: &[
                required("lease_id", Form::Uuid, "The lease."),
                required("ttl_ms", LEASE, "Extension in milliseconds."),
            ],
            rules: &[],
        },
        decay: None,
    },
    KindDef {
        name: "agent_response",
        description: "A session answers a question.",
        shape: Shape {
            fields: &[
                required("query_id", Form::Uuid, "The question."),
                required("session_id", SESSION, "The session that answers."),
                required("response_text", PROSE, "The answer."),
                optional("refs", REFERENCES, "What it refers to."),
            ],
            rules: &[],
        },
        decay: None,
    },
    KindDef {
        name: "peer_diagnostic_response",
        description: "A peer reports what it found.",
        shape: Shape {
            fields: &[
                required("diagnostic_id", Form::Uuid, "The request that it answers."),
                required("finding", PROSE, "What was found."),
                optional("remediation", Form::Text(bounds(0, TEXT_BYTES_MAX)), "What helps."),
                optional("substrate_refs", REFERENCES, "Observations that support it."),
            ],
            rules: &[],
        },
        decay: None,
    },
];
