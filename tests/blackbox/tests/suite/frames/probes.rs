//! For each rule of the catalogue: a value that is good, values at its bounds, and values beyond them.
//! Must not know: a server, or which member a rule is for.

use serde_json::{Value, json};

use super::catalogue::{Rule, WHOLE_MAX};

/// Most items of a list.
const ITEMS_MAX: usize = 64;

/// A text of exactly so many octets, of characters of one, two and three octets.
pub(super) fn octets(count: usize) -> String {
    let rest = ["", "x", "é"][count % 3];
    "€".repeat(count / 3) + rest
}

/// Another one, of characters of four octets.
fn wide(count: usize) -> String {
    "😀".repeat(count / 4) + &"x".repeat(count % 4)
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

/// Values at the bounds, and other shapes of good ones.
pub(super) fn accepted(rule: Rule) -> Vec<Value> {
    let texts = |sizes: &[usize]| -> Vec<Value> {
        let all = |size: &usize| [json!(octets(*size)), json!(wide(*size)), json!("x".repeat(*size))];
        sizes.iter().flat_map(all).collect()
    };
    match rule {
        Rule::Text(0, max) => texts(&[0, 1, max - 1, max]),
        Rule::Text(_, max) => texts(&[1, 2, max - 1, max]),
        Rule::Name(min, max) => vec![json!("x".repeat(min)), json!("x".repeat(max))],
        Rule::Free => vec![json!("x"), json!(octets(100))],
        Rule::Class => ["a.b", "a:b", "a/b", "a.b:c/d", "net.example/x"]
            .into_iter()
            .map(|text| json!(text))
            .chain([json!(format!("a.{}", octets(126)))])
            .collect(),
        Rule::Scope => SCOPES_GOOD
            .iter()
            .map(|scope| json!(scope))
            .chain([json!(format!("accord:acme/grant:{}", "x".repeat(512 - 18)))])
            .collect(),
        Rule::OneOf(words) => words.iter().map(|word| json!(word)).collect(),
        Rule::Uuid4 | Rule::QueryId => UUIDS_GOOD.iter().map(|text| json!(text)).collect(),
        Rule::Whole(min, max) => vec![json!(min), json!(min + 1), json!(max - 1), json!(max)],
        Rule::Flag => vec![json!(true), json!(false)],
        Rule::Texts(_, max) => {
            vec![json!([]), json!(["x"]), json!([octets(max), wide(max)]), json!(vec!["x"; ITEMS_MAX])]
        }
        Rule::Tags => vec![json!(["x"]), json!(vec!["x"; ITEMS_MAX])],
        Rule::Time => TIMES_GOOD.iter().map(|text| json!(text)).collect(),
        Rule::Own => vec![json!("~alice")],
        Rule::Instrument => {
            ["~alter-cli@1.2.3", "~cc-example-model@4", "~a", "~cursor", "~alter-cli@0.1.0-beta"]
                .iter()
                .map(|text| json!(text))
                .collect()
        }
        Rule::Question => Vec::new(),
    }
}

/// Values beyond the rule, each with the place inside the member where it is wrong. Null is always one of them: an
/// optional member is absent, never null.
pub(super) fn refused(rule: Rule) -> Vec<(Value, &'static str)> {
    let here = |values: Vec<Value>| -> Vec<(Value, &'static str)> {
        values.into_iter().map(|value| (value, "")).collect()
    };
    let not_text = [json!(1), json!(true), json!(null), json!([]), json!({}), json!(["x"])];
    let with = |more: Vec<Value>| here(more.into_iter().chain(not_text.clone()).collect());
    let words = |list: &[&str]| -> Vec<Value> { list.iter().map(|text| json!(text)).collect() };
    match rule {
        Rule::Text(0, max) => with(vec![json!(octets(max + 1)), json!(wide(max + 1))]),
        Rule::Text(_, max) => with(vec![json!(""), json!(octets(max + 1)), json!(wide(max + 1))]),
        Rule::Name(_, max) => with(vec![json!(""), json!("x".repeat(max + 1))]),
        Rule::Free | Rule::QueryId => with(Vec::new()),
        Rule::Class => {
            with(vec![json!(""), json!("x"), json!("no_separator-here"), json!(format!("a.{}", octets(127)))])
        }
        Rule::Scope => with(
            words(SCOPES_BAD)
                .into_iter()
                .chain([json!(format!("accord:acme/grant:{}", "x".repeat(513 - 18)))])
                .collect(),
        ),
        Rule::OneOf(known) => {
            let loud = known[0].to_uppercase();
            let spaced = format!("{} ", known[0]);
            with(vec![json!(""), json!("unheard-of"), json!(loud), json!(spaced)])
        }
        Rule::Uuid4 => with(words(UUIDS_BAD)),
        Rule::Whole(min, max) => {
            let mut values = vec![json!(min - 1), json!(-1), json!(1.5), json!("1"), json!("")];
            values.extend([json!(true), json!(null), json!([]), json!({}), json!([1])]);
            if max < WHOLE_MAX {
                values.push(json!(max + 1));
            }
            here(values)
        }
        Rule::Flag => {
            here(vec![json!("true"), json!(""), json!(0), json!(1), json!(null), json!([]), json!({})])
        }
        Rule::Texts(_, max) => vec![
            (json!([""]), "[0]"),
            (json!(["x", octets(max + 1)]), "[1]"),
            (json!(["x", "y", 5]), "[2]"),
            (json!([null]), "[0]"),
            (json!([["x"]]), "[0]"),
            (json!(["x", {"ref": "x"}]), "[1]"),
            (json!(vec!["x"; ITEMS_MAX + 1]), ""),
            (json!("x"), ""),
            (json!({}), ""),
            (json!({"0": "x"}), ""),
            (json!(null), ""),
            (json!(1), ""),
            (json!(false), ""),
        ],
        Rule::Tags => vec![
            (json!([]), ""),
            (json!([5]), "[0]"),
            (json!(["x", null]), "[1]"),
            (json!(vec!["x"; ITEMS_MAX + 1]), ""),
            (json!("x"), ""),
            (json!({}), ""),
            (json!(null), ""),
            (json!(1), ""),
        ],
        Rule::Time => with(words(TIMES_BAD)),
        Rule::Own => with(words(HANDLES_BAD).into_iter().chain([json!("~alice@1")]).collect()),
        Rule::Instrument => with(words(HANDLES_BAD)),
        Rule::Question => here(vec![json!("x"), json!(1), json!(null), json!([]), json!(true)]),
    }
}

/// Version 4, variant 1, upper or lower case (kept as sent).
pub(super) const UUIDS_GOOD: &[&str] = &[
    "00000000-0000-4000-8000-000000000000",
    "ffffffff-ffff-4fff-bfff-ffffffffffff",
    "5B0C3C3E-8A4E-4D4C-9C5D-0F6A7B8C9D0E",
    "5b0c3c3e-8a4e-4d4c-ac5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-4d4c-Bc5d-0f6a7b8c9d0e",
];

/// Other versions, other variants, other spellings.
pub(super) const UUIDS_BAD: &[&str] = &[
    "",
    "5b0c3c3e-8a4e-1d4c-9c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-3d4c-9c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-5d4c-9c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-7d4c-9c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-0d4c-9c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-4d4c-7c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-4d4c-cc5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-4d4c-0c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-4d4c-fc5d-0f6a7b8c9d0e",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "5b0c3c3e8a4e4d4c9c5d0f6a7b8c9d0e",
    "{5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e}",
    "urn:uuid:5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e",
    "5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0",
    "5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e0",
    "5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0g",
    "5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e ",
    "5b0c3c3e-8a4e4-d4c-9c5d-0f6a7b8c9d0e",
    "frame-1",
];

const TIMES_GOOD: &[&str] = &[
    "2026-05-22T10:00:00Z",
    "2026-05-22T10:00:00.1Z",
    "2026-05-22T10:00:00.123456789Z",
    "2026-05-22T10:00:00+02:00",
    "2026-05-22T10:00:00-11:30",
    "2026-05-22T10:00:00-00:00",
    "2024-02-29T23:59:59+14:00",
    "1970-01-01T00:00:00Z",
    "2999-12-31T23:59:59Z",
];

const TIMES_BAD: &[&str] = &[
    "",
    "2026-05-22T10:00:00",
    "2026-05-22T10:00Z",
    "2026-05-22",
    "10:00:00Z",
    "2026-02-30T10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2025-02-29T10:00:00Z",
    "2026-05-22T25:00:00Z",
    "2026-05-22T10:60:00Z",
    "2026-05-22T10:00:00+0200",
    "2026-05-22T10:00:00+24:00",
    "2026-05-22T10:00:00+02",
    "2026-05-22T10:00:00.Z",
    "2026-05-22T10:00:00ZZ",
    " 2026-05-22T10:00:00Z",
    "26-05-22T10:00:00Z",
    "Fri, 22 May 2026 10:00:00 GMT",
    "1779444000",
    "now",
];

/// What is no canonical handle, with or without a version.
pub(super) const HANDLES_BAD: &[&str] = &[
    "",
    "~",
    "alice",
    "~Alice",
    "~ALICE",
    "~-alice",
    "~alice-",
    "~_alice",
    "~alice_",
    "~al.ice",
    "~al/ice",
    "~al ice",
    " ~alice",
    "~alice ",
    "~alice\n",
    "~~alice",
    "@alice",
    "@alice.bot",
    "~álice",
    "~alice/*",
    "~alice@",
    "~0123456789012345678901234567890123456789012345678901234567890123x",
];

/// Every form of a scope.
pub(super) const SCOPES_GOOD: &[&str] = &[
    "~alice",
    "~alice/*",
    "~alice/cc-*",
    "~alice/c*",
    "~alice/cc-laptop@s1",
    "~alice/cc-laptop@3f9:A.b_c-d+e=f",
    "org:acme/members/*",
    "org:acme/members/dev/*",
    "accord:acme/grant:read",
];

/// What is no scope.
pub(super) const SCOPES_BAD: &[&str] = &[
    "",
    "alice",
    "*",
    "~",
    "~*",
    "~Alice",
    "~alice-",
    "@alice.bot",
    "~alice/",
    "~alice/**",
    "~alice/*/",
    "~alice/*x",
    "~alice//*",
    "~alice/*/*",
    "~alice/cc",
    "~alice/CC-*",
    "~alice/c c*",
    "~alice/cc-laptop",
    "~alice/cc-laptop@",
    "~alice/@s1",
    "~alice/cc-laptop@s/1",
    "~alice/cc-laptop@s*",
    "~alice/cc-laptop@s@1",
    "~alice/cc-laptop@sé",
    "~alice/CC@s1",
    "~alice/cc-@s1",
    "~alice@s1",
    " ~alice",
    "~alice ",
    "~alice,~bob",
    "org:",
    "org:acme",
    "org:acme/members",
    "org:acme/members/",
    "org:acme/members//*",
    "org:acme/members/dev",
    "org:acme/members/dev/",
    "org:acme/members/dev/x",
    "org:acme/members/Dev/*",
    "org:acme/members/*/*",
    "org:acme/*",
    "org:/members/*",
    "org:Acme/members/*",
    "org:~acme/members/*",
    "ORG:acme/members/*",
    "accord:acme",
    "accord:acme/grant:",
    "accord:acme/grant",
    "accord:/grant:read",
    "accord:Acme/grant:read",
    "team:acme/members/*",
    "https://acme.example/",
];
