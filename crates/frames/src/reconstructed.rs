//! Reconstructed: the published page of the memo lost these payload tables (sections 5.5, 5.6, 5.8 and the second of
//! 5.11). What stands here follows the catalogue's text, the sibling kinds and what existing clients send; names and
//! bounds that the page does not give are our choice (wire.md 1.2, 1.5 row 1). When the lost tables turn up, they
//! replace these. Must not know: what is done with a definition.

use plenary_shape::{Shape, optional, required};

use crate::{
    catalogue::{KindDef, LEASE, SESSION},
    limits::{REFERENCE_OCTETS_MAX, TEXT_OCTETS_MAX},
    shape::{MANNER, PROSE, REFERENCES, UUID, text},
};

pub(crate) static RECONSTRUCTED: &[KindDef] = &[
    KindDef {
        name: "agent_lock_release",
        says: "A session announces that it gave a lease up.",
        shape: Shape::new(
            "",
            &MANNER,
            &[
                required("lease_id", UUID, "The lease."),
                // An existing client sends it empty.
                optional("resource", text(0, REFERENCE_OCTETS_MAX), "What was claimed."),
            ],
        ),
        decay: None,
    },
    KindDef {
        name: "agent_lease_extend",
        says: "A session announces that it extends a lease.",
        shape: Shape::new(
            "",
            &MANNER,
            &[
                required("lease_id", UUID, "The lease."),
                required("ttl_ms", LEASE, "By how much it is extended."),
            ],
        ),
        decay: None,
    },
    KindDef {
        name: "agent_response",
        says: "A session answers a question.",
        shape: Shape::new(
            "",
            &MANNER,
            &[
                required("query_id", UUID, "The question."),
                required("session_id", SESSION, "The session that answers."),
                required("response_text", PROSE, "The answer."),
                optional("refs", REFERENCES, "What it refers to."),
            ],
        ),
        decay: None,
    },
    KindDef {
        name: "peer_diagnostic_response",
        says: "A peer says what it found.",
        shape: Shape::new(
            "",
            &MANNER,
            &[
                required("diagnostic_id", UUID, "The request that it answers."),
                required("finding", PROSE, "What was found."),
                optional("remediation", text(0, TEXT_OCTETS_MAX), "What helps."),
                optional("substrate_refs", REFERENCES, "Observations that support it."),
            ],
        ),
        decay: None,
    },
];
