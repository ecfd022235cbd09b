//! Calls that are not made here, each with the reason and the place where it would hurt.
//! Must not know: types; a ban is a sequence of words, so a rename can slip past it, and review stays.

use anyhow::Result;

use super::{
    Finding, arrows, items, lex,
    tree::{File, Tree},
};

/// Words that must not follow each other, where, and why.
struct Ban {
    words: &'static str,
    place: fn(&str) -> bool,
    why: &'static str,
}

/// The files of a room that hold decisions: values in, values out.
const PURE_FILES: &[&str] = &["command", "event", "state", "decide", "trust", "wire"];

const TIME: &str = "time arrives in the Stamp: a decision must come out the same when it is made again";
const CHANCE: &str =
    "randomness and ids arrive in the Stamp: a decision must come out the same when it is made again";
const OUTSIDE_WORLD: &str =
    "what a decision needs from outside arrives in Facts; decide and evolve touch nothing";
const NO_WAITING: &str = "a decision is a plain function; the engine does the waiting";
const NO_TRANSPORT: &str = "a decision does not know which surface asked; routes.rs does";
const UNFINISHED: &str = "what is not finished is not merged";
const NO_LIMIT: &str = "every queue has a named limit, and a test of what happens past it";

const BANS: &[Ban] = &[
    Ban { words: "SystemTime", place: pure, why: TIME },
    Ban { words: "Instant", place: pure, why: TIME },
    Ban { words: "getrandom", place: pure, why: CHANCE },
    Ban { words: "rand::", place: pure, why: CHANCE },
    Ban { words: "RandomState", place: pure, why: CHANCE },
    Ban { words: "std::fs", place: pure, why: OUTSIDE_WORLD },
    Ban { words: "fs::", place: pure, why: OUTSIDE_WORLD },
    Ban { words: "std::net", place: pure, why: OUTSIDE_WORLD },
    Ban { words: "std::env", place: pure, why: OUTSIDE_WORLD },
    Ban { words: "std::process", place: pure, why: OUTSIDE_WORLD },
    Ban { words: "std::thread", place: pure, why: OUTSIDE_WORLD },
    Ban { words: "tokio::", place: pure, why: NO_WAITING },
    Ban { words: "async fn", place: pure, why: NO_WAITING },
    Ban { words: "async move", place: pure, why: NO_WAITING },
    Ban { words: ".await", place: pure, why: NO_WAITING },
    Ban { words: "axum::", place: pure, why: NO_TRANSPORT },
    Ban { words: "hyper::", place: pure, why: NO_TRANSPORT },
    Ban {
        words: "#[ignore",
        place: anywhere,
        why: "a test that does not run proves nothing: mend it or delete it",
    },
    Ban { words: "todo!", place: anywhere, why: UNFINISHED },
    Ban { words: "unimplemented!", place: anywhere, why: UNFINISHED },
    Ban { words: "dbg!", place: anywhere, why: UNFINISHED },
    Ban {
        words: "thread::sleep",
        place: anywhere,
        why: "a sleep is a guess: wait for the thing itself, with a deadline",
    },
    Ban {
        words: "time::sleep",
        place: black_box,
        why: "a sleep is a guess: wait for the thing itself, with a deadline",
    },
    Ban { words: "unbounded_channel", place: anywhere, why: NO_LIMIT },
    Ban { words: "mpsc::unbounded", place: anywhere, why: NO_LIMIT },
    Ban { words: "mpsc::channel()", place: anywhere, why: NO_LIMIT },
];

/// Marks of unfinished work in comments, spelt in two parts so that this list does not find itself.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];

/// Checks every Rust file.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    Ok(tree.rust().flat_map(in_file).collect())
}

fn in_file(file: &File) -> Vec<Finding> {
    let tokens = lex::tokens(&file.code);
    let mut findings = Vec::new();
    for ban in BANS.iter().filter(|ban| (ban.place)(&file.path)) {
        for found in lex::find(&tokens, ban.words) {
            findings.push(Finding::at(file, found.at, format!("`{}`: {}", ban.words, ban.why)));
        }
    }
    for found in items::allowances_without_reason(&tokens) {
        let text = "a lint is lowered without `reason = \"…\"`".to_owned();
        findings.push(Finding::at(file, found.at, text));
    }
    for mark in MARKS {
        for (at, _) in file.text.match_indices(mark) {
            findings.push(Finding::at(file, at, format!("`{mark}`: {UNFINISHED}")));
        }
    }
    findings
}

fn anywhere(_: &str) -> bool {
    true
}

/// The tests that run the real binary on the real clock. Their harness may wait between two looks.
fn black_box(path: &str) -> bool {
    path.strip_prefix("tests/").is_some_and(|rest| rest.contains("/tests/"))
}

/// `crates/<room>/src/decide.rs`, and everything below `crates/<room>/src/decide/`.
fn pure(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_room = parts.next() == Some("crates")
        && parts.next().is_some_and(|room| room == "accounts" || arrows::PROTOCOLS.contains(&room))
        && parts.next() == Some("src");
    is_room && parts.any(|part| PURE_FILES.contains(&part.trim_end_matches(".rs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK_BOX: &str = "tests/blackbox/tests/x.rs";

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).unwrap().len()
    }

    #[test]
    fn the_pure_files_of_rooms_are_known() {
        assert!(pure("crates/sessions/src/decide.rs"));
        assert!(pure("crates/accounts/src/decide/block.rs"));
        assert!(!pure("crates/sessions/src/routes.rs"));
        assert!(!pure("crates/engine/src/state.rs"));
    }

    #[test]
    fn every_ban_bites_where_it_holds() {
        for ban in BANS {
            let path = if (ban.place)(BLACK_BOX) { BLACK_BOX } else { "crates/sessions/src/decide.rs" };
            assert!(found(path, ban.words) > 0, "{}", ban.words);
        }
    }

    #[test]
    fn bans_of_pure_files_hold_nowhere_else() {
        let text = "use std::time::Instant; async fn a() { tokio::spawn(b()).await }";
        assert!(found("crates/sessions/src/decide.rs", text) >= 4);
        assert_eq!(found("crates/sessions/src/routes.rs", text), 0);
    }

    #[test]
    fn words_in_comments_and_texts_are_not_calls() {
        assert_eq!(found("crates/sessions/src/decide.rs", "// tokio::spawn\nlet a = \"getrandom\";"), 0);
    }

    #[test]
    fn a_lowered_lint_gives_its_reason() {
        assert_eq!(found("a.rs", "#[allow(dead_code)]\nfn a() {}"), 1);
        assert_eq!(found("a.rs", "#![expect(dead_code, reason = \"read by a macro\")]"), 0);
    }

    #[test]
    fn unfinished_work_is_found_in_comments() {
        assert_eq!(found("a.rs", &format!("// {}: later", MARKS[0])), 1);
    }

    #[test]
    fn a_bounded_channel_is_no_offence() {
        assert_eq!(found("a.rs", "let (tx, rx) = mpsc::channel(QUEUE_MAX);"), 0);
    }
}
