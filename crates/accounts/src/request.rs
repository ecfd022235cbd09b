//! What peers send to the account surface: each body and query in one declaration (wire.md D.1, 2.2, 2.3). Members that
//! nobody knows are ignored (wire.md D.9); null is as good as absent, but removes a text of a profile.
//! Must not know: what becomes of a request.

use plenary_kernel::{AgentHandle, AllowEntry, Class, OwnerName, text};
use plenary_shape::{
    Field, Form, Grammar, Items, List, Manner, Missing, Node, Null, Order, Rule, Sent, Shape, Twice, Unit,
    Unknown, at_most, bounds, optional, required,
};
use schemars::json_schema;

use crate::{
    Policy, Token,
    agent::profile::{ProfileChange, Visibility},
    limits::{
        ALLOWLIST_ENTRIES_MAX, BLOCKS_PAGE_MAX, CARD_BYTES_MAX, CONTACT_MESSAGE_OCTETS_MAX,
        CONTACTS_PAGE_MAX, DESCRIPTION_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, ENTRIES_PER_REQUEST_MAX,
        FOUND_PAGE_MAX, LIST_PAGE_MAX, REACHABLE_PAGE_MAX, ROLES_PER_MEMBER_MAX, SEARCH_CHARS_MAX,
        SEARCH_CHARS_MIN,
    },
    org::state::Role,
};

const HOUSE: Manner = Manner {
    class: Class::Malformed,
    quote: "",
    stop: ".",
    integer: "a number from ",
    code: "invalid_body",
    whole: ("invalid_body", "The body must be a JSON object"),
    twice: Twice::Whole("invalid_query", "The query can't be read"),
    missing: Missing::Says(" is missing"),
    unknown: Unknown::Ignored,
    null: Null::Absent,
    order: Order::InTurn,
    types_first: true,
    items: Items::Whole,
    describes_forms: false,
};
/// How this room refuses what it cannot read.
static MANNER: Manner = HOUSE;
/// A seed file is written by people: what is not known there is a mistake.
static SEED: Manner =
    Manner { stop: "", unknown: Unknown::Refused("invalid_seed", " is not known"), ..HOUSE };

static HANDLE_TEXT: Grammar = Grammar::of::<AgentHandle>("an agent's handle");
static OWNER_TEXT: Grammar = Grammar::of::<OwnerName>("an owner's name");
static ENTRY_TEXT: Grammar = Grammar::of::<AllowEntry>("an entry of an allowlist");
static ROLE_TEXT: Grammar = Grammar::of::<Role>("a role");
/// A token that somebody chooses.
static TOKEN_TEXT: Grammar = Grammar {
    wants: "a string of 16 to 512 printable ASCII characters without spaces",
    check: |text| Token::chosen(text).map(drop).ok_or_else(String::new),
    schema: |_| json_schema!({"type": "string", "minLength": 16, "maxLength": 512}),
};
/// The same in a seed file, where it may be shorter.
static SEEDED_TEXT: Grammar = Grammar {
    wants: "a string of 1 to 512 printable ASCII characters without spaces",
    check: |text| Token::seeded(text).map(drop).ok_or_else(String::new),
    schema: |_| json_schema!({"type": "string", "minLength": 1, "maxLength": 512}),
};
static DISPLAY_NAME_TEXT: Grammar = Grammar {
    wants: "a name for people",
    check: |text| match text {
        "" => Err(" must not be empty; null removes it".to_owned()),
        name => line(name, DISPLAY_NAME_CHARS_MAX),
    },
    schema: |_| json_schema!({"type": "string", "minLength": 1, "maxLength": DISPLAY_NAME_CHARS_MAX}),
};
static DESCRIPTION_TEXT: Grammar = Grammar {
    wants: "a line",
    check: |text| line(text, DESCRIPTION_CHARS_MAX),
    schema: |_| json_schema!({"type": "string", "maxLength": DESCRIPTION_CHARS_MAX}),
};
static CARD_TEXT: Grammar =
    Grammar { wants: "Markdown", check: card, schema: |_| json_schema!({"type": "string"}) };

fn line(text: &str, chars_max: usize) -> Result<(), String> {
    if text.chars().count() > chars_max {
        return Err(format!(" must have at most {chars_max} characters"));
    }
    text::check_line(text).map_err(|why| format!(" {why}"))
}

/// Markdown has lines and tabs; what else a reader does not see is refused as elsewhere.
fn card(text: &str) -> Result<(), String> {
    if text.len() > CARD_BYTES_MAX {
        return Err(format!(" must have at most {CARD_BYTES_MAX} bytes"));
    }
    let shown = |c: char| matches!(c, '\n' | '\r' | '\t');
    text::hidden(text).find(|(_, c)| !shown(*c)).map_or(Ok(()), |(_, c)| {
        let code = u32::from(c);
        Err(format!(" must not hold control, direction or invisible characters; it holds U+{code:04X}"))
    })
}

const ANY_TEXT: Form = Form::Text(Unit::Bytes, at_most(u64::MAX));

const fn handle(name: &'static str, says: &'static str) -> Field {
    required(name, Form::Of(&HANDLE_TEXT), says).code("invalid_handle")
}

const fn entries(max: usize, min: u64) -> List {
    List {
        items: bounds(min, max as u64),
        of: Form::Of(&ENTRY_TEXT),
        noun: "entries",
        type_says: "a list of strings",
        is_set: false,
    }
}

const fn limit(max: usize, says: &'static str) -> Field {
    optional("limit", Form::Integer(bounds(1, max as u64)), says).code("invalid_limit")
}

const HANDLE: Field = handle("handle", "The handle; its owner is made when it is new.");
const POLICY: Field =
    optional("policy", Form::OneOf(&["allowlist", "open"]), "The gate; of a new agent `allowlist`.")
        .code("invalid_policy")
        .wants("allowlist or open");
const SELF_SERVICE: Field =
    optional("self_service", Form::Flag, "Whether the agent may configure itself; of a new one false.")
        .code("invalid_self_service");
const DISPLAY_NAME: Field = optional(
    "display_name",
    Form::Of(&DISPLAY_NAME_TEXT),
    "Its name for people, one line of 1 to 100 characters; null removes it.",
)
.code("invalid_display_name")
.null(Null::Given);
const DESCRIPTION: Field = optional(
    "description",
    Form::Of(&DESCRIPTION_TEXT),
    "What it is for, one line of up to 500 characters; null removes it.",
)
.code("invalid_description")
.null(Null::Given);
const CARD_BODY: Field =
    optional("card_body", Form::Of(&CARD_TEXT), "Its card, Markdown of up to 16 KiB; null removes it.")
        .code("invalid_card_body")
        .null(Null::Given);
const VISIBILITY: Field = optional(
    "visibility",
    Form::OneOf(&["private", "public"]),
    "Who may read its profile; `private` at first.",
)
.code("invalid_visibility")
.wants("public or private");
const CURSOR: Field = optional("cursor", ANY_TEXT, "The `next_cursor` of the page before.");
const SEARCHED: Field = required(
    "q",
    Form::Text(Unit::Characters, bounds(SEARCH_CHARS_MIN as u64, SEARCH_CHARS_MAX as u64)),
    "What to search for, 2 to 100 characters.",
)
.code("invalid_query")
.wants("a text of 2 to 100 characters")
.missing(Missing::AsWrong);

/// `POST /_admin/owners`.
pub(crate) static NEW_OWNER: Shape = Shape::new(
    "NewOwner",
    &MANNER,
    &[required("owner", Form::Of(&OWNER_TEXT), "The name.").code("invalid_owner")],
);

/// `POST /_admin/agents`.
pub(crate) static NEW_AGENT: Shape = Shape::new(
    "NewAgent",
    &MANNER,
    &[
        HANDLE,
        POLICY,
        optional(
            "allowlist",
            Form::List(&entries(ENTRIES_PER_REQUEST_MAX, 0)),
            "Its allowlist; empty when absent.",
        )
        .code("invalid_allowlist_entry"),
        SELF_SERVICE,
        optional("token", Form::Of(&TOKEN_TEXT), "Its token, 16 to 512 octets; made when absent.")
            .code("invalid_token"),
        DISPLAY_NAME,
        DESCRIPTION,
        CARD_BODY,
        VISIBILITY,
    ],
);

/// The same, of which only is read whose agent it is to be: that is judged before the rest.
pub(crate) static WHOSE: Shape = Shape::new("", &MANNER, &[HANDLE]);

/// `PATCH /_admin/agents/{handle}`.
pub(crate) static AGENT_CHANGES: Shape = Shape::new(
    "AgentChanges",
    &MANNER,
    &[SELF_SERVICE, POLICY, DISPLAY_NAME, DESCRIPTION, CARD_BODY, VISIBILITY],
)
.rules(&[Rule::Some(
    &["policy", "self_service", "display_name", "description", "card_body", "visibility"],
    "invalid_policy",
    "Name policy, self_service, display_name, description, card_body or visibility",
)]);

/// `PATCH /agents/me`.
pub(crate) static OWN_CHANGES: Shape =
    Shape::new("OwnChanges", &MANNER, &[POLICY, DISPLAY_NAME, DESCRIPTION, CARD_BODY, VISIBILITY]).rules(&[
        Rule::Some(
            &["policy", "display_name", "description", "card_body", "visibility"],
            "invalid_policy",
            "Name policy, display_name, description, card_body or visibility",
        ),
    ]);

/// Entries to put on an allowlist.
pub(crate) static NEW_ENTRIES: Shape = Shape::new(
    "NewEntries",
    &MANNER,
    &[required(
        "entries",
        Form::List(&entries(ENTRIES_PER_REQUEST_MAX, 1)),
        "Handles and `@owner.*`, one or more.",
    )
    .code("invalid_allowlist_entry")
    .missing(Missing::AsWrong)],
);

/// Whom to block.
pub(crate) static NEW_BLOCK: Shape =
    Shape::new("NewBlock", &MANNER, &[handle("handle", "The handle, whether or not anybody has it.")]);

/// `PUT /_admin/orgs/{org}`, which takes nothing.
pub(crate) static NOTHING: Shape = Shape::new("", &MANNER, &[]);

/// `PUT /_admin/orgs/{org}/members/{handle}`.
pub(crate) static NEW_MEMBER: Shape = Shape::new(
    "NewMember",
    &MANNER,
    &[optional(
        "roles",
        Form::List(&List {
            items: at_most(ROLES_PER_MEMBER_MAX as u64),
            of: Form::Of(&ROLE_TEXT),
            noun: "roles",
            type_says: "a list of strings",
            is_set: true,
        }),
        "All the member's roles; none when absent. One that stands twice is one.",
    )
    .code("invalid_roles")],
);

/// `POST /contacts`.
pub(crate) static NEW_CONTACT: Shape = Shape::new(
    "NewContact",
    &MANNER,
    &[
        handle("to", "Whom to ask."),
        optional(
            "message",
            Form::Text(Unit::Bytes, bounds(1, CONTACT_MESSAGE_OCTETS_MAX as u64)),
            "What to say with it, 1 to 4096 octets.",
        )
        .code("invalid_message")
        .wants("a string of 1 to 4096 octets"),
    ],
);

/// An agent of a seed file.
pub(crate) static SEEDED: Shape = Shape::new(
    "",
    &SEED,
    &[
        required("token", Form::Of(&SEEDED_TEXT), ""),
        POLICY,
        optional("allowlist", Form::List(&entries(ALLOWLIST_ENTRIES_MAX, 0)), ""),
        DISPLAY_NAME,
        DESCRIPTION,
        CARD_BODY,
        VISIBILITY,
    ],
);

/// The query of a list.
pub(crate) static PAGE: Shape =
    Shape::new("", &MANNER, &[limit(LIST_PAGE_MAX, "How many rows at most."), CURSOR]);
/// The query of a list of blocks.
pub(crate) static BLOCK_PAGE: Shape =
    Shape::new("", &MANNER, &[limit(BLOCKS_PAGE_MAX, "How many rows at most."), CURSOR]);
/// The query of `GET /contacts`.
pub(crate) static CONTACTS: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional(
            "direction",
            Form::OneOf(&["incoming", "outgoing"]),
            "`incoming` (when absent) or `outgoing`.",
        )
        .code("invalid_direction")
        .wants("incoming or outgoing"),
        optional("agent", ANY_TEXT, "Of which agent; for an agent's own token it is the agent itself."),
        limit(CONTACTS_PAGE_MAX, "How many; 100 when absent, at most 100."),
        CURSOR,
    ],
);
/// The query of `GET /agents`.
pub(crate) static REACHABLE: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional("query", ANY_TEXT, "Only handles that have this."),
        limit(REACHABLE_PAGE_MAX, "How many; 50 when absent, at most 100."),
        CURSOR,
        optional("owner", ANY_TEXT, "Only agents of this owner."),
    ],
);
/// The query of `GET /search/agents`.
pub(crate) static SEARCH: Shape = Shape::new(
    "",
    &MANNER,
    &[SEARCHED, limit(FOUND_PAGE_MAX, "How many; 20 when absent, at most 50."), CURSOR],
);
/// The query of `GET /search`.
pub(crate) static SEARCH_ALL: Shape = Shape::new(
    "",
    &MANNER,
    &[SEARCHED, limit(FOUND_PAGE_MAX, "How many of each kind; 20 when absent, at most 50.")],
);

/// A policy, if any.
pub(crate) fn policy<'a, N: Node<'a>>(sent: &Sent<N>) -> Option<Policy> {
    sent.text("policy").map(|word| if word == "open" { Policy::Open } else { Policy::Allowlist })
}

/// The members of a profile; the empty text for null.
pub(crate) fn profile<'a, N: Node<'a>>(sent: &Sent<N>) -> ProfileChange {
    let said = |name| sent.get(name).map(|text| text.text().unwrap_or_default().into_owned());
    let visibility = sent.text("visibility");
    ProfileChange {
        display_name: said("display_name"),
        description: said("description"),
        card_body: said("card_body"),
        visibility: visibility
            .map(|word| if word == "public" { Visibility::Public } else { Visibility::Private }),
    }
}

#[cfg(test)]
mod tests {
    use plenary_shape::Misfit;

    use super::*;
    use crate::limits::{TOKEN_OCTETS_MAX, TOKEN_OCTETS_MIN};

    fn said(shape: &'static Shape, body: &str) -> String {
        let says = |misfit: Misfit| format!("{} {}", misfit.code, misfit.sentence());
        shape.read_body(body.as_bytes()).map_or_else(says, |_| "fine".to_owned())
    }

    #[test]
    fn each_member_has_its_code() {
        for (shape, body, expected) in [
            (&NEW_OWNER, "{}", "invalid_owner owner is missing."),
            (&NEW_OWNER, r#"{"owner":7}"#, "invalid_owner owner must be a string."),
            (&NEW_AGENT, r#"{"handle":7}"#, "invalid_handle handle must be a string."),
            (&NEW_AGENT, r#"{"handle":null}"#, "invalid_handle handle is missing."),
            (
                &NEW_AGENT,
                r#"{"handle":"@a.b","policy":7}"#,
                "invalid_policy policy must be allowlist or open.",
            ),
            (
                &NEW_AGENT,
                r#"{"handle":"@a.b","self_service":1}"#,
                "invalid_self_service self_service must be true or false.",
            ),
            (
                &NEW_AGENT,
                r#"{"handle":"@a.b","token":""}"#,
                "invalid_token token must be a string of 16 to 512 printable ASCII characters without spaces.",
            ),
            (
                &NEW_AGENT,
                r#"{"handle":"@a.b","policy":null,"token":null,"allowlist":null,"self_service":null,"unknown":1}"#,
                "fine",
            ),
            (&NEW_ENTRIES, "{}", "invalid_allowlist_entry entries must be a list of 1 to 1000 entries."),
            (&NEW_ENTRIES, r#"{"entries":7}"#, "invalid_allowlist_entry entries must be a list of strings."),
            (
                &NEW_ENTRIES,
                r#"{"entries":["@a.b",7]}"#,
                "invalid_allowlist_entry entries must be a list of strings.",
            ),
            (
                &NEW_CONTACT,
                r#"{"to":"@a.b","message":""}"#,
                "invalid_message message must be a string of 1 to 4096 octets.",
            ),
            (&NEW_OWNER, "[]", "invalid_body The body must be a JSON object."),
            (
                &AGENT_CHANGES,
                r#"{"policy":null}"#,
                "invalid_policy Name policy, self_service, display_name, description, card_body or visibility.",
            ),
            (&AGENT_CHANGES, r#"{"card_body":null}"#, "fine"),
        ] {
            assert_eq!(said(shape, body), expected, "{body}");
        }
        assert!(said(&NEW_AGENT, r#"{"handle":"x"}"#).starts_with("invalid_handle handle: "));
        assert!(said(&NEW_ENTRIES, r#"{"entries":["@a"]}"#).starts_with("invalid_allowlist_entry entries: "));
        assert!(said(&NEW_MEMBER, r#"{"roles":["A"]}"#).starts_with("invalid_roles roles: "));
    }

    #[test]
    fn past_their_limits_lists_and_texts_are_refused() {
        let list =
            |n: usize, one: &str| (0..n).map(|n| format!("\"{one}{n}\"")).collect::<Vec<_>>().join(",");
        let entries = |n| said(&NEW_ENTRIES, &format!("{{\"entries\":[{}]}}", list(n, "@a.n")));
        assert_eq!(entries(ENTRIES_PER_REQUEST_MAX), "fine");
        assert_ne!(entries(ENTRIES_PER_REQUEST_MAX + 1), "fine");
        let roles = |n| said(&NEW_MEMBER, &format!("{{\"roles\":[{}]}}", list(n, "r")));
        assert_eq!(roles(ROLES_PER_MEMBER_MAX), "fine");
        assert_eq!(
            roles(ROLES_PER_MEMBER_MAX + 1),
            "invalid_roles roles must be a list of at most 16 roles.",
        );
        let same = format!("{{\"roles\":[{}]}}", ["\"r\""; ROLES_PER_MEMBER_MAX + 1].join(","));
        assert_eq!(said(&NEW_MEMBER, &same), "fine", "one that stands twice is one");
        let token = |shape, n: usize| {
            said(shape, &format!("{{\"handle\":\"@a.b\",\"token\":\"{}\"}}", "x".repeat(n)))
        };
        assert_eq!(token(&NEW_AGENT, TOKEN_OCTETS_MIN), "fine");
        assert_eq!(token(&NEW_AGENT, TOKEN_OCTETS_MAX), "fine");
        for wrong in [TOKEN_OCTETS_MIN - 1, TOKEN_OCTETS_MAX + 1] {
            assert!(token(&NEW_AGENT, wrong).starts_with("invalid_token"));
        }
    }

    #[test]
    fn a_profile_has_its_limits_and_no_hidden_characters() {
        let code = |name: &str, text: &str| {
            let body = serde_json::json!({name: text});
            OWN_CHANGES.read(&body).map_or_else(|misfit| misfit.code, |_| "fine")
        };
        for (name, max, wrong) in [
            ("display_name", DISPLAY_NAME_CHARS_MAX, "invalid_display_name"),
            ("description", DESCRIPTION_CHARS_MAX, "invalid_description"),
        ] {
            assert_eq!(code(name, &"ä".repeat(max)), "fine");
            for text in [&*"x".repeat(max + 1), "two\nlines", "\u{202e}txt.exe", "zero\u{200b}width"] {
                assert_eq!(code(name, text), wrong, "{text:?}");
            }
        }
        assert_eq!(code("card_body", &"x".repeat(CARD_BYTES_MAX)), "fine");
        assert_eq!(code("card_body", "# Nick\r\n\n\t- says no 👩\u{200d}🔧\n"), "fine");
        for text in [&*"x".repeat(CARD_BYTES_MAX + 1), "\u{1b}[2J", "\u{2066}x", "a\u{200d}b"] {
            assert_eq!(code("card_body", text), "invalid_card_body", "{text:?}");
        }
        assert_eq!(
            said(&OWN_CHANGES, r#"{"display_name":""}"#),
            "invalid_display_name display_name must not be empty; null removes it."
        );
        assert_eq!(
            said(&OWN_CHANGES, r#"{"display_name":7}"#),
            "invalid_display_name display_name must be a string."
        );
        assert_eq!(code("visibility", "all"), "invalid_visibility");
        let nulls = r#"{"display_name":null,"description":null,"card_body":null,"visibility":null}"#;
        let empty = Some(String::new());
        let (display_name, description, card_body) = (empty.clone(), empty.clone(), empty);
        let removed = ProfileChange { display_name, description, card_body, visibility: None };
        assert_eq!(profile(&OWN_CHANGES.read_body(nulls.as_bytes()).unwrap()), removed);
    }
}
