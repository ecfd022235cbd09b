//! The queries of this room, each in one declaration (wire.md D.7).
//! Must not know: what becomes of a request.

use plenary_kernel::Class;
use plenary_shape::{
    Field, Form, Grammar, Items, Manner, Missing, Null, Order, Shape, Switch, Twice, Unit, Unknown, at_most,
    bounds, optional, required,
};
use schemars::json_schema;

use crate::{
    limits::{LIST_MAX, SNIPPETS_MAX, WINDOW_DAYS_MAX},
    moment::Moment,
};

const HOUSE: Manner = Manner {
    class: Class::Malformed,
    quote: "`",
    stop: ".",
    integer: "a whole number from ",
    code: "invalid_parameter",
    whole: ("invalid_parameter", "The query can't be read"),
    twice: Twice::Each("invalid_parameter", " must be sent once"),
    missing: Missing::AsWrong,
    unknown: Unknown::Ignored,
    null: Null::Absent,
    order: Order::InTurn,
    types_first: false,
    items: Items::Whole,
    describes_forms: false,
};
/// How a query is refused.
static MANNER: Manner = HOUSE;
/// For what deletes: a restriction that is not known must not be passed over.
static DELETING: Manner = Manner {
    unknown: Unknown::Refused(
        "invalid_parameter",
        " must be left out; what counts here is subject, predicate, object",
    ),
    ..HOUSE
};

const ANY_TEXT: Form = Form::Text(Unit::Bytes, at_most(u64::MAX));
const SWITCH: Form = Form::Switch(&Switch { on: &["true", "1"], off: &["false", "0"], is_exact: true });
/// A moment in UTC, or a day, which is its first moment.
static MOMENT: Grammar = Grammar {
    wants: "an RFC 3339 time in UTC, or a day",
    check: |text| moment(text).map(drop).ok_or_else(String::new),
    schema: |_| json_schema!({"type": "string"}),
};
static CONFIDENCE: Grammar = Grammar {
    wants: "a number from 0 to 1",
    check: |text| confidence(text).map(drop).ok_or_else(String::new),
    schema: |_| json_schema!({"type": "number", "minimum": 0, "maximum": 1}),
};

const fn limit(says: &'static str) -> Field {
    optional("limit", Form::Integer(bounds(1, LIST_MAX as u64)), says)
}

const fn given(name: &'static str, says: &'static str) -> Field {
    required(name, Form::Text(Unit::Bytes, bounds(1, u64::MAX)), says).wants("given")
}

const fn text(name: &'static str, says: &'static str) -> Field {
    optional(name, ANY_TEXT, says)
}

const CURSOR: Field = text("cursor", "The `next_cursor` of an earlier page.");
const PACKAGE_TYPE: Field = text("package_type", "Only those of this type.");
const PARENT: Field = text("parent", "Only those with this parent.");
const WINDOW_DAYS: Field = optional(
    "window_days",
    Form::Integer(bounds(1, WINDOW_DAYS_MAX)),
    "How many days to look back on; 14 when absent.",
);
const MODE: Field = optional(
    "mode",
    Form::OneOf(&["latest", "relevant"]),
    "`latest`, or `relevant`: those nearest to `query`, each as `{package, score}`.",
)
.wants("latest or relevant");

/// Which project's package is meant.
pub(super) static OF_PROJECT: Shape =
    Shape::new("", &MANNER, &[text("project", "The project, where the id stands in several.")]);
/// How packages are listed: that is read before the rest.
pub(super) static LISTED: Shape = Shape::new("", &MANNER, &[MODE]);
/// The query of a list of packages.
pub(super) static PACKAGES: Shape = Shape::new(
    "",
    &MANNER,
    &[
        MODE,
        text(
            "query",
            "What `mode=relevant` looks for: any of its words, and its meaning where there is a model.",
        ),
        optional(
            "ranking",
            Form::OneOf(&["lexical", "semantic", "hybrid"]),
            "`lexical`, `semantic` or `hybrid`; when absent `hybrid` where a model works, else `lexical`.",
        )
        .wants("lexical, semantic or hybrid"),
        optional(
            "status",
            Form::OneOf(&["draft", "complete", "awaiting_review", "revision_requested"]),
            "Only those in this state.",
        )
        .wants("one of draft, complete, awaiting_review, revision_requested"),
        limit("1 to 1000; 5 when absent."),
        PACKAGE_TYPE,
        PARENT,
        CURSOR,
    ],
);
/// The query of a list of what awaits review.
pub(super) static AWAITING: Shape =
    Shape::new("", &MANNER, &[limit("1 to 1000; 5 when absent."), PACKAGE_TYPE, PARENT, CURSOR]);
/// The query of a list of facts.
pub(super) static FACTS: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional("as_of", Form::Of(&MOMENT), "What was current then: RFC 3339 UTC, or a day."),
        optional("include_ended", SWITCH, "Those that have ended too."),
        text("subject", "Only of this subject."),
        text("predicate", "Only with this predicate."),
        optional("min_confidence", Form::Of(&CONFIDENCE), "Only of this confidence or more."),
        text("tag", "Only with this tag."),
        CURSOR,
        limit("1 to 1000; 1000 when absent."),
    ],
);
/// Which facts end.
pub(super) static INVALIDATED: Shape = Shape::new(
    "",
    &DELETING,
    &[
        given("subject", "Of this subject."),
        given("predicate", "With this predicate."),
        text("object", "Only with this value."),
    ],
);
/// The query of a list of sessions.
pub(super) static SESSIONS: Shape = Shape::new(
    "",
    &MANNER,
    &[limit("1 to 1000; 100 when absent."), text("callsign", "Only with this callsign."), CURSOR],
);
/// The query of an orientation.
pub(super) static ORIENT: Shape = Shape::new("", &MANNER, &[WINDOW_DAYS]);
/// The query of a digest.
pub(super) static DIGEST: Shape = Shape::new(
    "",
    &MANNER,
    &[
        text("focus", "What the snippets are to be about."),
        WINDOW_DAYS,
        optional("snippets", Form::Integer(bounds(0, SNIPPETS_MAX as u64)), "0 to 200; 25 when absent."),
        optional("include_archived", SWITCH, "Archived projects too, where it is over all."),
        text("project", "The project; all that one may read when absent."),
    ],
);
/// The query of a live stream.
pub(super) static EVENTS: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional(
            "after",
            Form::Integer(bounds(0, u64::MAX)),
            "Only what comes behind this id; `Last-Event-ID` wins. 0 is the beginning; from now on when both are absent.",
        )
        .wants("an id that was received, or 0"),
        text(
            "types",
            "Only these, separated by commas: whole names, or what stands before the dot: `package,fact.asserted`.",
        ),
        text("ticket", "From `POST /auth/ticket`, for clients that can't set headers."),
    ],
);
/// The query of an export.
pub(super) static EXPORT: Shape = Shape::new(
    "",
    &MANNER,
    &[
        text("after", "The `cursor` of the last record that came: go on behind it."),
        text("since", "The `since` of an earlier export's end: only what is new."),
    ],
);
/// The query of an import.
pub(super) static IMPORT: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional(
            "conflict",
            Form::OneOf(&["skip", "overwrite", "rename"]),
            "`skip`, `overwrite` or `rename`; `skip` when absent.",
        )
        .wants("one of skip, overwrite, rename"),
        optional("dry_run", SWITCH, "Tell what would come of it, and write nothing."),
    ],
);

/// A moment in UTC, or the first one of a day.
pub(super) fn moment(text: &str) -> Option<Moment> {
    Moment::parse(text).or_else(|| Moment::parse(&format!("{text}T00:00:00Z")))
}

/// A number from 0 to 1.
pub(super) fn confidence(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=1.0).contains(number))
}
