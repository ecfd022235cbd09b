//! The bodies of this room that are read member by member, each in one declaration (wire.md D.7). Packages and facts,
//! which are kept as bytes, are read by `schema` and `fact::document`.
//! Must not know: what becomes of a request.

use plenary_kernel::{Class, OwnerName, text::check_line};
use plenary_shape::{
    Field, Form, Grammar, Items, Manner, Missing, Null, Order, Shape, Twice, Unit, Unknown, at_most, bounds,
    optional, required,
};
use schemars::json_schema;

use crate::{
    access::Role,
    lifecycle::{ActorType, ReviewType, Status},
    limits::{ABOUT_OCTETS_MAX, ID_OCTETS_MAX, NAME_CHARACTERS_MAX, NOTE_OCTETS_MAX},
    moment::Moment,
};

/// How a body is refused.
static MANNER: Manner = Manner {
    class: Class::Malformed,
    quote: "`",
    stop: ".",
    integer: "an integer from ",
    code: "invalid_schema",
    whole: ("invalid_schema", "The body must be a JSON object"),
    twice: Twice::Each("invalid_schema", " must be sent once"),
    missing: Missing::Says(" is required"),
    unknown: Unknown::Ignored,
    null: Null::Wrong,
    order: Order::InTurn,
    types_first: true,
    items: Items::Each,
    describes_forms: false,
};

static OWNER: Grammar = Grammar::plain::<OwnerName>("an owner's name");
static NAME: Grammar = Grammar {
    wants: "1 to 200 characters",
    check: |name| match name.chars().count() {
        1..=NAME_CHARACTERS_MAX => check_line(name).map_err(|why| format!(" {why}")),
        _ => Err(String::new()),
    },
    schema: |_| json_schema!({"type": "string", "minLength": 1, "maxLength": NAME_CHARACTERS_MAX}),
};
static ROLE: Grammar = Grammar {
    wants: "one of reader, writer, reviewer",
    check: |word| Role::parse(word).map(drop).ok_or_else(String::new),
    schema: |generator| generator.subschema_for::<Role>(),
};
static ACTOR_TYPE: Grammar = Grammar {
    wants: "one of human, agent, script",
    check: |word| ActorType::parse(word).map(drop).ok_or_else(String::new),
    schema: |generator| generator.subschema_for::<ActorType>(),
};
static REVIEWER: Grammar = Grammar {
    wants: "human or agent",
    check: |word| reviewer(word).map(drop).ok_or_else(String::new),
    schema: |generator| generator.subschema_for::<ReviewType>(),
};
static STATUS: Grammar = Grammar {
    wants: "one of complete, revision_requested, awaiting_review",
    check: |word| Status::parse(word).map(drop).ok_or_else(String::new),
    schema: |generator| generator.subschema_for::<Status>(),
};
static MOMENT: Grammar = Grammar {
    wants: "an RFC 3339 time that ends in Z or +00:00",
    check: |text| Moment::parse(text).map(drop).ok_or_else(String::new),
    schema: |_| json_schema!({"type": "string"}),
};

/// Who is asked to review: nobody is not.
pub(super) fn reviewer(word: &str) -> Option<ReviewType> {
    ReviewType::parse(word).filter(|review_type| *review_type != ReviewType::None)
}

const ID: Form = Form::Text(Unit::Bytes, bounds(1, ID_OCTETS_MAX as u64));
const NAMED: Field = optional("name", Form::Of(&NAME), "A name for people.");
const DESCRIPTION: Field =
    optional("description", Form::Text(Unit::Bytes, at_most(ABOUT_OCTETS_MAX as u64)), "What it is.");
const SETTINGS: Field = optional("settings", Form::Map, "Whatever clients keep with it.");
const NOTE: Field = optional(
    "note",
    Form::Text(Unit::Bytes, at_most(NOTE_OCTETS_MAX as u64)),
    "Why; kept in the review log.",
)
.null(Null::Named);

/// A new project.
pub(super) static NEW_PROJECT: Shape = Shape::new(
    "NewProject",
    &MANNER,
    &[
        required("project_id", Form::Shown(Unit::Bytes, bounds(1, ID_OCTETS_MAX as u64)), "Its id."),
        optional("owner_id", Form::Of(&OWNER), "Whose it is to be; for the operator only.").null(Null::Named),
        NAMED,
        DESCRIPTION,
        SETTINGS,
    ],
)
.says("A new project.");
/// What a project is about; what is absent stays.
pub(super) static ABOUT: Shape = Shape::new("AboutProject", &MANNER, &[NAMED, DESCRIPTION, SETTINGS])
    .says("What a project is about; what is absent stays.");
/// A role.
pub(super) static NEW_ROLE: Shape =
    Shape::new("NewRole", &MANNER, &[required("role", Form::Of(&ROLE), "What the member may do.")])
        .says("A role.");
/// A new session.
pub(super) static NEW_SESSION: Shape = Shape::new(
    "NewSession",
    &MANNER,
    &[
        optional("actor_type", Form::Of(&ACTOR_TYPE), "What that is.").null(Null::Named),
        optional("actor_id", ID, "Who works in it; the token's bearer when absent.").null(Null::Named),
    ],
)
.says("A new session.");
/// The end of a session.
pub(super) static SESSION_END: Shape = Shape::new(
    "SessionEnd",
    &MANNER,
    &[optional("ended_at", Form::Of(&MOMENT), "RFC 3339 UTC; now when absent.")],
)
.says("The end of a session.");
/// A flag.
pub(super) static FLAG: Shape =
    Shape::new("Flag", &MANNER, &[required("review_type", Form::Of(&REVIEWER), "`human` or `agent`."), NOTE])
        .says("A flag.");
/// A review.
pub(super) static REVIEW: Shape = Shape::new(
    "Review",
    &MANNER,
    &[required("status", Form::Of(&STATUS), "`complete`, `revision_requested` or `awaiting_review`."), NOTE],
)
.says("A review.");
