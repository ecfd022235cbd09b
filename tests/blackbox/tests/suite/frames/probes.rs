//! For each rule of the catalogue: a value that is good, one at its bound, and one past it. Every bound is tried beside
//! the server's own catalogue; these show that the catalogue is what the server asks.
//! Must not know: a server, or which member a rule is for.

use serde_json::{Value, json};

use super::catalogue::Rule;

/// Most items of a list.
const ITEMS_MAX: usize = 64;

/// A text of exactly so many bytes, of characters of one, two and three bytes.
pub(super) fn bytes(count: usize) -> String {
    let rest = ["", "x", "é"][count % 3];
    "€".repeat(count / 3) + rest
}

/// A value that the rule takes.
pub(super) fn good(rule: Rule) -> Value {
    match rule {
        Rule::Text(..) | Rule::Free => json!("a text é"),
        Rule::Name(..) => json!("s-1"),
        Rule::Class => json!("github.pull/acme"),
        Rule::Scope => json!("~alice/*"),
        Rule::OneOf(words) => json!(words[0]),
        Rule::Uuid4 | Rule::QueryId => json!("5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e"),
        Rule::Whole(..) => json!(60_000),
        Rule::Flag => json!(true),
        Rule::Texts(..) | Rule::Tags => json!(["one", "two é"]),
        Rule::Time => json!("2026-05-22T10:00:00Z"),
        Rule::Own => json!("~alice"),
        Rule::Instrument => json!("~cc-example-model"),
        Rule::Question => json!({
            "stem": "Which one?",
            "options": [
                {"label": "this", "reasoning": "it is near"},
                {"label": "that", "reasoning": "it is far"},
            ],
            "recommended_idx": 0,
        }),
    }
}

/// A value at the bound, one past it, and where inside the member that one is wrong.
pub(super) fn bound(rule: Rule) -> (Value, Value, &'static str) {
    let (at, past) = match rule {
        Rule::Text(_, max) => (json!(bytes(max)), json!(bytes(max + 1))),
        Rule::Name(_, max) => (json!("x".repeat(max)), json!("x".repeat(max + 1))),
        Rule::Free | Rule::QueryId | Rule::Question => (good(rule), Value::Null),
        Rule::Class => (json!(format!("a.{}", bytes(126))), json!("no_separator-here")),
        Rule::Scope => (json!("org:acme/members/*"), json!("~alice/")),
        Rule::OneOf(words) => (json!(words[words.len() - 1]), json!("unheard-of")),
        Rule::Uuid4 => {
            (json!("5B0C3C3E-8A4E-4D4C-9C5D-0F6A7B8C9D0E"), json!("5b0c3c3e-8a4e-1d4c-9c5d-0f6a7b8c9d0e"))
        }
        Rule::Whole(min, max) => (json!(max), json!(min - 1)),
        Rule::Flag => (json!(false), json!("true")),
        // FO-41: what points at a thing is a text, never the thing itself.
        Rule::Texts(_, max) => {
            return (json!(vec![bytes(max); 2]), json!(["x", {"title": "the thing itself"}]), "[1]");
        }
        Rule::Tags => (json!(vec!["x"; ITEMS_MAX]), json!([])),
        Rule::Time => (json!("2024-02-29T23:59:59.5+14:00"), json!("2026-05-22T10:00:00")),
        Rule::Own => (good(rule), json!("~Alice")),
        Rule::Instrument => (json!("~alter-cli@0.1.0-beta"), json!("cc")),
    };
    (at, past, "")
}
