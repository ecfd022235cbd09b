//! The frames there are: the envelope, and each of the fifteen kinds in one definition (sections 3 to 5 of the memo,
//! wire.md 1.1, 1.2). Validation, the JSON schema and the page KINDS.md come from here, so that a kind is added in
//! one place: as an entry below, under a new envelope version.
//! Must not know: what is done with a definition. Shapes that the published page lost stand in `reconstructed`.

use plenary_shape::{Field, Form, List, Rule, Shape, Unit, bounds, optional, required};

use crate::{
    limits::{
        HANDOVER_OCTETS_MAX, LEASE_MS_MAX, REFERENCE_OCTETS_MAX, SESSION_OCTETS_MAX, SPAN_MS_MAX,
        TEXT_OCTETS_MAX,
    },
    reconstructed::RECONSTRUCTED,
    shape::{
        HANDLE, INSTRUMENT, MANNER, NAMESPACED, PAYLOAD, PRINCIPAL, PROSE, REFERENCE, REFERENCES, SCOPE,
        SELECTOR, TIME, UUID, text, texts,
    },
};

/// The one version of the wire contract that is spoken here.
pub const ENVELOPE_VERSION: &str = "1.0";

/// A kind of frame: its name, what it is for, and the one shape of its payload.
#[derive(Debug)]
pub struct KindDef {
    /// Its name on the wire.
    pub name: &'static str,
    /// What it is for.
    pub says: &'static str,
    /// The shape of its payload.
    pub shape: Shape,
    /// Where the payload says how long the frame may be remembered.
    pub decay: Option<Decay>,
}

/// A span after which retained copies of a frame are forgotten (section 14).
#[derive(Debug, Clone, Copy)]
pub struct Decay {
    /// The member that holds the time from which it runs.
    pub since: &'static str,
    /// The member that holds its milliseconds.
    pub ms: &'static str,
}

/// A kind of the catalogue.
#[derive(Clone, Copy)]
pub struct Kind(&'static KindDef);

impl Kind {
    /// The kind of a name; `None` outside the catalogue (FO-1, FO-17).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.0.name == name)
    }

    /// All fifteen.
    pub fn all() -> impl Iterator<Item = Self> {
        STATED.iter().chain(RECONSTRUCTED).map(Self)
    }

    /// Its definition.
    #[must_use]
    pub const fn def(self) -> &'static KindDef {
        self.0
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Kind {}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

const OF_CATALOGUE: &str = "a value of the catalogue";

/// The frame itself (section 3).
pub static ENVELOPE: Shape = Shape::new(
    "",
    &MANNER,
    &[
        required("envelope_version", SELECTOR, "The version of the wire contract.").wants(OF_CATALOGUE),
        required("frame_id", UUID, "Made by the sender, unique to the frame."),
        required("kind", SELECTOR, "What the frame is for.").wants(OF_CATALOGUE),
        required("sender_handle", HANDLE, "The sending principal: the token's own."),
        required("recipient_handle", HANDLE, "The principal that the frame is for."),
        required("created_at", TIME, "When the sender emitted it."),
        optional("ttl_ms", SPAN, "How long the sender thinks it holds; advice to recipients alone."),
        required("payload", PAYLOAD, "The body, of the kind's own shape.")
            .wants("an object of the kind's own shape"),
        required("acted_by", PRINCIPAL, "The human principal on whose behalf it is sent."),
        required("drafted_with", INSTRUMENT, "The agent runtime that composed it."),
        required(
            "provenance_compute_location",
            Form::OneOf(&["server-active", "server-aggregate", "local-only"]),
            "Where the inference behind it was computed.",
        ),
        required(
            "provenance_method",
            Form::List(&texts(1, REFERENCE_OCTETS_MAX)),
            "Tags of how it was made.",
        ),
        optional("provenance_return_ref", REFERENCE, "A return record."),
        required(
            "provenance_context_check",
            Form::OneOf(&["passed", "skipped"]),
            "Whether the sender checked the context it is emitted in.",
        ),
        required("provenance_basis", REFERENCE, "The stream it belongs to, and the basis of that."),
    ],
);

pub(crate) const SPAN: Form = Form::Integer(bounds(1, SPAN_MS_MAX));
pub(crate) const LEASE: Form = Form::Integer(bounds(1, LEASE_MS_MAX));
pub(crate) const SESSION: Form = text(1, SESSION_OCTETS_MAX);
const CONVERGENCE: Field =
    required("convergence_class", NAMESPACED, "The class of costly effect, in a namespace.");
const ONE_LINE: Form = Form::Line(Unit::Bytes, bounds(1, TEXT_OCTETS_MAX));

const fn kind(name: &'static str, says: &'static str, fields: &'static [Field]) -> KindDef {
    KindDef { name, says, shape: Shape::new("", &MANNER, fields), decay: None }
}

/// The question of `agent_binding_moment` (section 5.10).
static QUESTION: Shape = Shape::new(
    "",
    &MANNER,
    &[
        required("stem", PROSE, "The question, in one sentence."),
        required("options", Form::List(&OPTIONS), "What can be chosen."),
        required("recommended_idx", Form::Integer(bounds(0, 3)), "The recommended option, counted from 0."),
        optional("hatches", Form::Object(&HATCHES), "Ways out of the options; both open when absent."),
    ],
)
.rules(&[Rule::Index { index: "recommended_idx", of: "options" }]);
static OPTION: Shape = Shape::new(
    "",
    &MANNER,
    &[
        required("label", PROSE, "A short label."),
        required("reasoning", ONE_LINE, "Why one would choose it."),
    ],
);
const OPTIONS: List =
    List { items: bounds(2, 4), of: Form::Object(&OPTION), noun: "", type_says: "", is_set: false };
static HATCHES: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional("free_text", Form::Flag, "Whether one may answer outside the options; true when absent."),
        optional("dialogue", Form::Flag, "Whether one may revise the question; true when absent."),
    ],
)
.rules(&[Rule::OneIsTrue(&["free_text", "dialogue"])]);

/// The kinds whose shapes the memo states.
static STATED: &[KindDef] = &[
    kind(
        "agent_advisory",
        "A session says what it is doing.",
        &[
            required("advisory_text", PROSE, "What the sender is doing."),
            optional("file_refs", REFERENCES, "Files it concerns."),
            optional("worktree", text(0, 512), "The sender's working tree."),
            optional("branch", text(0, 256), "The sender's branch."),
        ],
    ),
    kind(
        "agent_broadcast",
        "A session announces what is done.",
        &[
            required("broadcast_text", PROSE, "The announcement."),
            required(
                "event_class",
                Form::OneOf(&["merged", "stale", "released", "other"]),
                "What kind of event it is.",
            ),
            optional("refs", REFERENCES, "Branches, change requests or commits it concerns."),
        ],
    ),
    kind(
        "agent_handover",
        "A session passes work to another.",
        &[
            required("previous_session_id", SESSION, "The session that hands over."),
            required("handover_body", text(1, HANDOVER_OCTETS_MAX), "What is handed over."),
            optional(
                "next_session_id",
                text(0, SESSION_OCTETS_MAX),
                "The session that claims it; absent at first.",
            ),
            optional("pointer_refs", REFERENCES, "What it points at."),
        ],
    ),
    kind(
        "agent_lock_request",
        "A session announces that it claims a resource for a while; nobody is held to it.",
        &[
            required("resource", REFERENCE, "What is claimed."),
            required("lease_id", UUID, "Ties announcements of one lease together."),
            required("ttl_ms", LEASE, "How long the lease is to last."),
            optional("intent", text(0, TEXT_OCTETS_MAX), "Why."),
        ],
    ),
    kind(
        "agent_query",
        "A session asks, and says where answers go.",
        &[
            required("query_text", PROSE, "The question."),
            required("query_id", UUID, "Ties answers to it."),
            required("response_scope", SCOPE, "Where answers are to be sent."),
            required("timeout_ms", SPAN, "How long the asker collects answers."),
        ],
    ),
    kind(
        "agent_return_event",
        "The end of a question, for whoever keeps account of returns.",
        &[
            required("return_event_ref", text(1, 256), "The return record."),
            required("summary", PROSE, "What was returned."),
            optional("query_id", UUID, "The question that it ends."),
        ],
    ),
    kind(
        "agent_binding_moment",
        "A decision is asked for, in eight slots.",
        &[
            required("synopsis", PROSE, "What it is about, in one sentence."),
            required("findings", FINDINGS, "What was found."),
            required("recommendations", FINDINGS, "What is recommended."),
            required("offer", ONE_LINE, "What the sender would do."),
            required("question", Form::Object(&QUESTION), "What is to be decided."),
        ],
    ),
    kind(
        "peer_diagnostic_request",
        "A session describes a symptom and asks a peer about it.",
        &[
            required("symptom", PROSE, "What was seen."),
            required("diagnostic_id", UUID, "Ties the answer to it."),
            required("severity", Form::OneOf(&["info", "degraded", "blocked"]), "How bad it is."),
            optional("substrate_refs", REFERENCES, "Observations that support it."),
        ],
    ),
    KindDef {
        name: "intent_declare",
        says: "A session means to cause a costly effect.",
        shape: Shape::new(
            "",
            &MANNER,
            &[
                CONVERGENCE,
                required("payload_ref", REFERENCE, "The intended effect."),
                required("acted_by", PRINCIPAL, "The human principal who means it."),
                required("drafted_with", INSTRUMENT, "The agent runtime that means it."),
                required("declared_at", TIME, "When it was declared."),
                required("ttl", SPAN, "Milliseconds after which it is forgotten."),
                required("withdrawable", Form::Flag, "Whether it may be withdrawn."),
                optional("urgency", Form::OneOf(&["normal", "urgent"]), "How urgent it is."),
            ],
        ),
        decay: Some(Decay { since: "declared_at", ms: "ttl" }),
    },
    kind(
        "intent_withdraw",
        "A session withdraws what it meant to do.",
        &[
            CONVERGENCE,
            required("intent_ref", REFERENCE, "The declared intent."),
            required("withdrawn_at", TIME, "When it was withdrawn."),
        ],
    ),
    kind(
        "flush_executed",
        "A session has caused one effect for many intents.",
        &[
            CONVERGENCE,
            required("result_ref", REFERENCE, "The result."),
            required("executed_at", TIME, "When it was done."),
            optional("batch_refs", REFERENCES, "The intents that it covers."),
        ],
    ),
];

const FINDINGS: Form = Form::List(&texts(0, TEXT_OCTETS_MAX));
