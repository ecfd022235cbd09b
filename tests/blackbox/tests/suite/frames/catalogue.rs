//! The frame and its fifteen payloads as a table: members, whether they are required, and what they may hold.
//! Must not know: a server. Bounds of text are bytes of UTF-8.

/// What a member may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// Any text of so many bytes.
    Text(usize, usize),
    /// The same, but what else is allowed in it is not this table's business: only ASCII is tried.
    Name(usize, usize),
    /// A text without stated bounds.
    Free,
    /// A namespaced identifier of 1 to 128 bytes.
    Class,
    /// A recipient scope of 1 to 512 bytes.
    Scope,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A version 4 UUID.
    Uuid4,
    /// An identifier of a query, which is a version 4 UUID; only its JSON type is stated.
    QueryId,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// A boolean.
    Flag,
    /// At most 64 texts, each of so many bytes.
    Texts(usize, usize),
    /// 1 to 64 tags.
    Tags,
    /// An RFC 3339 time with its zone.
    Time,
    /// The canonical handle of the sender.
    Own,
    /// An instrument's handle, with or without its version.
    Instrument,
    /// The question of a decision request, which `binding` looks into.
    Question,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) rule: Rule,
}

const fn must(name: &'static str, rule: Rule) -> Member {
    Member { name, required: true, rule }
}

const fn may(name: &'static str, rule: Rule) -> Member {
    Member { name, required: false, rule }
}

/// The largest whole number of I-JSON.
pub(super) const WHOLE_MAX: i64 = 9_007_199_254_740_991;
/// The longest advisory lease, in milliseconds.
const LEASE_MAX: i64 = 3_600_000;
/// "Pointer fields and refs: 1-512 bytes."
const REFS: Rule = Rule::Texts(1, 512);
const REF: Rule = Rule::Text(1, 512);
const PROSE: Rule = Rule::Text(1, 2_048);
const PROSES: Rule = Rule::Texts(1, 2_048);

/// The members of a frame whose rules are of the ordinary kind; version, kind, payload and the handles have their own
/// tests.
pub(super) const FRAME: &[Member] = &[
    must("frame_id", Rule::Uuid4),
    must("created_at", Rule::Time),
    may("ttl_ms", Rule::Whole(1, WHOLE_MAX)),
    must("acted_by", Rule::Own),
    must("drafted_with", Rule::Instrument),
    must("provenance_compute_location", Rule::OneOf(&["server-active", "server-aggregate", "local-only"])),
    must("provenance_method", Rule::Tags),
    may("provenance_return_ref", Rule::Free),
    must("provenance_context_check", Rule::OneOf(&["passed", "skipped"])),
    must("provenance_basis", Rule::Free),
];

/// Every required member of a frame.
pub(super) const FRAME_REQUIRED: &[&str] = &[
    "envelope_version",
    "frame_id",
    "kind",
    "sender_handle",
    "recipient_handle",
    "created_at",
    "payload",
    "acted_by",
    "drafted_with",
    "provenance_compute_location",
    "provenance_method",
    "provenance_context_check",
    "provenance_basis",
];

/// The closed catalogue (FO-17), each kind with its payload.
pub(super) const KINDS: &[(&str, &[Member])] = &[
    (
        "agent_advisory",
        &[
            must("advisory_text", PROSE),
            may("file_refs", REFS),
            may("worktree", Rule::Text(0, 512)),
            may("branch", Rule::Text(0, 256)),
        ],
    ),
    (
        "agent_broadcast",
        &[
            must("broadcast_text", PROSE),
            must("event_class", Rule::OneOf(&["merged", "stale", "released", "other"])),
            may("refs", REFS),
        ],
    ),
    (
        "agent_handover",
        &[
            must("previous_session_id", Rule::Text(1, 128)),
            must("handover_body", Rule::Text(1, 8_192)),
            may("next_session_id", Rule::Text(0, 128)),
            may("pointer_refs", REFS),
        ],
    ),
    (
        "agent_lock_request",
        &[
            must("resource", REF),
            must("lease_id", Rule::Uuid4),
            must("ttl_ms", Rule::Whole(1, LEASE_MAX)),
            may("intent", Rule::Text(0, 2_048)),
        ],
    ),
    ("agent_lock_release", &[must("lease_id", Rule::Uuid4), may("resource", Rule::Text(0, 512))]),
    ("agent_lease_extend", &[must("lease_id", Rule::Uuid4), must("ttl_ms", Rule::Whole(1, LEASE_MAX))]),
    (
        "agent_query",
        &[
            must("query_text", PROSE),
            must("query_id", Rule::Uuid4),
            must("response_scope", Rule::Scope),
            must("timeout_ms", Rule::Whole(1, WHOLE_MAX)),
        ],
    ),
    (
        "agent_response",
        &[
            must("query_id", Rule::Uuid4),
            must("session_id", Rule::Name(1, 128)),
            must("response_text", PROSE),
            may("refs", REFS),
        ],
    ),
    (
        "agent_return_event",
        &[
            must("return_event_ref", Rule::Text(1, 256)),
            must("summary", PROSE),
            may("query_id", Rule::QueryId),
        ],
    ),
    (
        "agent_binding_moment",
        &[
            must("synopsis", PROSE),
            must("findings", PROSES),
            must("recommendations", PROSES),
            must("offer", PROSE),
            must("question", Rule::Question),
        ],
    ),
    (
        "peer_diagnostic_request",
        &[
            must("symptom", PROSE),
            must("diagnostic_id", Rule::Uuid4),
            must("severity", Rule::OneOf(&["info", "degraded", "blocked"])),
            may("substrate_refs", REFS),
        ],
    ),
    (
        "peer_diagnostic_response",
        &[
            must("diagnostic_id", Rule::Uuid4),
            must("finding", PROSE),
            may("remediation", Rule::Text(0, 2_048)),
            may("substrate_refs", REFS),
        ],
    ),
    (
        "intent_declare",
        &[
            must("convergence_class", Rule::Class),
            must("payload_ref", REF),
            must("acted_by", Rule::Own),
            must("drafted_with", Rule::Instrument),
            must("declared_at", Rule::Time),
            must("ttl", Rule::Whole(1, WHOLE_MAX)),
            must("withdrawable", Rule::Flag),
            may("urgency", Rule::OneOf(&["normal", "urgent"])),
        ],
    ),
    (
        "intent_withdraw",
        &[must("convergence_class", Rule::Class), must("intent_ref", REF), must("withdrawn_at", Rule::Time)],
    ),
    (
        "flush_executed",
        &[
            must("convergence_class", Rule::Class),
            must("result_ref", REF),
            must("executed_at", Rule::Time),
            may("batch_refs", REFS),
        ],
    ),
];

/// The payload of a kind.
pub(super) fn members(kind: &str) -> &'static [Member] {
    KINDS.iter().find(|(name, _)| *name == kind).expect("a kind of the catalogue").1
}
