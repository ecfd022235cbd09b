//! Forbidden calls, each with the reason and the place where it applies.
//! Must not know: types; a ban is a sequence of words, so a rename can evade it, and review remains
//! necessary.

use anyhow::Result;

use Scope::{Anywhere, BlackBox, Product, Pure, Untransported};

use super::{
    Finding, arrows, items, lex,
    tree::{File, Tree},
};

/// A forbidden sequence of words, its place, and the reason.
struct Ban {
    words: &'static str,
    scope: Scope,
    why: &'static str,
}

/// The files in which a ban applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// In every file.
    Anywhere,
    /// In every file, outside tests.
    Product,
    /// In files whose head contains "Pure."
    Pure,
    /// In those of them whose head does not exempt the transport's types.
    Untransported,
    /// In the tests that run the real binary on the real clock. Their harness may wait between two
    /// checks.
    BlackBox,
}

/// The files of a room with decisions, and with its requests and responses: values in, values out. The
/// head of each must contain the mark.
const PURE_FILES: &[&str] = &["command", "event", "state", "decide", "trust", "wire"];
/// The sentence that marks a file as pure.
const MARK: &str = "Pure.";
/// The same for a file that has types of the transport in it.
const MARK_WITH_TRANSPORT: &str = "Pure, but for the transport's types.";

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
    Ban { words: "SystemTime", scope: Pure, why: TIME },
    Ban { words: "Instant", scope: Pure, why: TIME },
    Ban { words: "getrandom", scope: Pure, why: CHANCE },
    Ban { words: "rand::", scope: Pure, why: CHANCE },
    Ban { words: "RandomState", scope: Pure, why: CHANCE },
    Ban { words: "std::fs", scope: Pure, why: OUTSIDE_WORLD },
    Ban { words: "fs::", scope: Pure, why: OUTSIDE_WORLD },
    Ban { words: "std::net", scope: Pure, why: OUTSIDE_WORLD },
    Ban { words: "std::env", scope: Pure, why: OUTSIDE_WORLD },
    Ban { words: "std::process", scope: Pure, why: OUTSIDE_WORLD },
    Ban { words: "std::thread", scope: Pure, why: OUTSIDE_WORLD },
    Ban { words: "tokio::", scope: Pure, why: NO_WAITING },
    Ban { words: "async fn", scope: Pure, why: NO_WAITING },
    Ban { words: "async move", scope: Pure, why: NO_WAITING },
    Ban { words: ".await", scope: Pure, why: NO_WAITING },
    Ban { words: "axum::", scope: Untransported, why: NO_TRANSPORT },
    Ban { words: "hyper::", scope: Untransported, why: NO_TRANSPORT },
    Ban {
        words: "#[ignore",
        scope: Anywhere,
        why: "a test that does not run proves nothing: mend it or delete it",
    },
    Ban { words: "todo!", scope: Anywhere, why: UNFINISHED },
    Ban { words: "unimplemented!", scope: Anywhere, why: UNFINISHED },
    Ban { words: "dbg!", scope: Anywhere, why: UNFINISHED },
    Ban {
        words: "thread::sleep",
        scope: Anywhere,
        why: "a sleep is a guess: wait for the thing itself, with a deadline",
    },
    Ban {
        words: "time::sleep",
        scope: BlackBox,
        why: "a sleep is a guess: wait for the thing itself, with a deadline",
    },
    Ban { words: "unbounded_channel", scope: Product, why: NO_LIMIT },
    Ban { words: "mpsc::unbounded", scope: Product, why: NO_LIMIT },
    Ban { words: "mpsc::channel()", scope: Product, why: NO_LIMIT },
];

/// Marks of unfinished work in comments, each split in two so that this list does not match itself.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];

/// Checks every Rust file.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    Ok(tree.rust().flat_map(in_file).collect())
}

fn in_file(file: &File) -> Vec<Finding> {
    let tokens = file.tokens();
    let mut findings = Vec::new();
    for ban in BANS {
        for found in lex::find(&tokens, ban.words).iter().filter(|found| ban.scope.holds(file, found.at)) {
            findings.push(Finding::at(file, found.at, format!("`{}`: {}", ban.words, ban.why)));
        }
    }
    for found in items::allowances_without_reason(&tokens) {
        let text = "a lint is lowered without `reason = \"…\"`".to_owned();
        findings.push(Finding::at(file, found.at, text));
    }
    let is_marked = Pure.holds(file, 0);
    if !is_marked && in_room(&file.path, |stem| PURE_FILES.contains(&stem)) {
        let text =
            format!("what holds decisions, or what peers send and get, says in its head `{MARK}`, and is");
        findings.push(Finding::at(file, 0, text));
    }
    for mark in MARKS {
        for (at, _) in file.text.match_indices(mark) {
            findings.push(Finding::at(file, at, format!("`{mark}`: {UNFINISHED}")));
        }
    }
    findings
}

impl Scope {
    fn holds(self, file: &File, at: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Product => !file.is_test(at),
            Self::Pure => head_contains(file, MARK) || head_contains(file, MARK_WITH_TRANSPORT),
            Self::Untransported => head_contains(file, MARK),
            Self::BlackBox => file.path.strip_prefix("tests/").is_some_and(|rest| rest.contains("/tests/")),
        }
    }
}

/// Whether the head of a file contains a sentence, even across lines.
fn head_contains(file: &File, sentence: &str) -> bool {
    let head = file.text.lines().map_while(|line| line.strip_prefix("//!"));
    let words = head.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    format!("{words} ").contains(&format!("{sentence} "))
}

/// Whether a part of the path below `crates/<room>/src` has such a name: `decide.rs`, or everything in
/// `decide/`.
fn in_room(path: &str, named: impl Fn(&str) -> bool) -> bool {
    let mut parts = path.split('/');
    let is_room = parts.next() == Some("crates")
        && parts.next().is_some_and(|room| room == "accounts" || arrows::PROTOCOLS.contains(&room))
        && parts.next() == Some("src");
    is_room && parts.any(|part| named(part.trim_end_matches(".rs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK_BOX: &str = "tests/blackbox/tests/x.rs";

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).unwrap().len()
    }

    #[test]
    fn a_file_is_pure_if_its_head_says_so() {
        let pure = |text: &str| Pure.holds(&File::new("crates/any/src/any.rs", text), 0);
        assert!(pure("//! Who may do what. Pure.\n//! Must not know: HTTP.\n"));
        assert!(pure("//! Frames. Pure, but for\n//! the transport's types.\n"));
        assert!(!pure("//! Purely a name.\n"));
        assert!(!pure("//! A name.\n\n// Pure.\n"));
    }

    #[test]
    fn files_with_decisions_are_marked_pure() {
        for (path, count) in [
            ("crates/sessions/src/decide.rs", 1),
            ("crates/accounts/src/decide/block.rs", 1),
            ("crates/sessions/src/wire.rs", 1),
            ("crates/sessions/src/routes.rs", 0),
            ("crates/engine/src/state.rs", 0),
        ] {
            assert_eq!(found(path, "//! Something.\n"), count, "{path}");
            assert_eq!(found(path, "//! Something. Pure.\n"), 0, "{path}");
        }
    }

    #[test]
    fn every_ban_bites_where_it_holds() {
        for ban in BANS {
            let path = if ban.scope == BlackBox { BLACK_BOX } else { "crates/sessions/src/decide.rs" };
            let words = ban.words.replace("#[ignore", "#[ignore]");
            assert!(found(path, &format!("//! Something. Pure.\n{words}")) > 0, "{words}");
        }
    }

    #[test]
    fn bans_of_pure_files_hold_nowhere_else() {
        let text = "use std::time::Instant; async fn a() { tokio::spawn(b()).await }";
        assert!(found("crates/engine/src/a.rs", &format!("//! Something. Pure.\n{text}")) >= 4);
        assert_eq!(found("crates/sessions/src/routes.rs", text), 0);
        let transport = "//! Something. Pure, but for the transport's types.\nuse axum::body::Body;";
        assert_eq!(found("crates/sessions/src/wire.rs", transport), 0);
    }

    #[test]
    fn words_in_comments_and_texts_are_not_calls() {
        let text = "//! Something. Pure.\n// tokio::spawn\nlet a = \"getrandom\";";
        assert_eq!(found("crates/sessions/src/decide.rs", text), 0);
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
    fn queues_without_limit_are_for_tests_alone() {
        assert_eq!(found("crates/hub/src/a.rs", "mpsc::unbounded_channel()"), 1);
        assert_eq!(found("crates/hub/src/a.rs", "#[cfg(test)] mod tests { mpsc::unbounded_channel() }"), 0);
        assert_eq!(found("crates/hub/tests/a.rs", "mpsc::unbounded_channel()"), 0);
        assert_eq!(found("crates/hub/src/a.rs", "let (tx, rx) = mpsc::channel(QUEUE_MAX);"), 0);
    }
}
