//! Every requirement of a protocol is in the name of a test: `asp_43_…`, `asp_43_44_…` for two of them.
//! Must not know: the content of a requirement, or the quality of its test.
//!
//! A number in a comment does not count: it would not show which test fails when the requirement is
//! violated.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{
    Finding, items,
    tree::{File, Tree},
};

/// A protocol whose requirements have numbers.
struct Protocol {
    name: &'static str,
    /// `ASP` of `ASP-43`.
    prefix: &'static str,
    /// The highest number; numbers begin at 1.
    last: usize,
    /// The directories of its tests.
    directories: &'static [&'static str],
    /// Whether a requirement without a test fails the run; it is only a note while the protocol is being
    /// built.
    complete: bool,
}

const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "Agent Session Protocol",
        prefix: "ASP",
        last: 106,
        directories: &[
            "crates/kernel/",
            "crates/room/",
            "crates/accounts/",
            "crates/sessions/",
            "tests/blackbox/",
        ],
        complete: true,
    },
    Protocol {
        name: "Agent Channel Protocol v2",
        prefix: "CH",
        last: 37,
        directories: &["crates/channels/", "crates/plenary/", "tests/blackbox/"],
        complete: true,
    },
    Protocol {
        name: "Agent-Channel Fan-Out",
        prefix: "FO",
        last: 96,
        // The client implements the memo's requirements on recipients.
        directories: &[
            "crates/kernel/",
            "crates/hub/",
            "crates/frames/",
            "crates/client/",
            "tests/blackbox/",
        ],
        complete: true,
    },
    Protocol {
        name: "Agentic Protocol",
        prefix: "AP",
        last: 106,
        directories: &["crates/kernel/", "crates/context/", "tests/blackbox/"],
        complete: true,
    },
    Protocol {
        name: "Agent Protocol",
        prefix: "SC",
        last: 48,
        directories: &["crates/runs/", "tests/blackbox/"],
        complete: true,
    },
    Protocol {
        name: "Agent2Agent",
        prefix: "A2A",
        last: 55,
        directories: &["crates/a2a/", "tests/blackbox/"],
        complete: true,
    },
];

/// Checks every protocol.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    Ok(PROTOCOLS.iter().filter_map(|protocol| unnamed(tree, protocol)).collect())
}

fn unnamed(tree: &Tree, protocol: &Protocol) -> Option<Finding> {
    let mut named = BTreeSet::new();
    for file in tree
        .rust()
        .filter(|file| protocol.directories.iter().any(|directory| file.path.starts_with(directory)))
    {
        for name in test_names(file) {
            named.extend(numbers(&name, protocol.prefix));
        }
    }
    let missing: Vec<String> =
        (1..=protocol.last).filter(|number| !named.contains(number)).map(|n| n.to_string()).collect();
    if missing.is_empty() {
        return None;
    }
    let text = format!("no test names {}-{}", protocol.prefix, missing.join(" "));
    Some(if protocol.complete {
        Finding::error(protocol.name, text)
    } else {
        Finding::note(protocol.name, text)
    })
}

/// The names of a file's tests.
fn test_names(file: &File) -> impl Iterator<Item = String> {
    let functions = items::functions(&file.tokens());
    functions.into_iter().filter(|function| function.test).map(|function| function.name)
}

/// The numbers that follow the prefix: `asp_43`, `asp_43_44_replay_comes_first`. Each protocol has its own prefix, so
/// a test may name requirements of two.
fn numbers(name: &str, prefix: &str) -> BTreeSet<usize> {
    let prefix = prefix.to_ascii_lowercase();
    let mut found = BTreeSet::new();
    let words: Vec<&str> = name.split('_').collect();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == prefix) {
        found.extend(words[at + 1..].iter().map_while(|word| word.parse::<usize>().ok()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_their_prefix() {
        for (name, expected) in [
            ("asp_43_44_replay_first", &[43, 44][..]),
            ("fo_2_asp_9_both", &[9]),
            ("asp_7_asp_8", &[7, 8]),
            ("asp_9", &[9]),
            ("grasp_5", &[]),
            ("asp_is_12_words", &[]),
        ] {
            assert_eq!(numbers(name, "ASP").into_iter().collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn only_names_of_tests_count() {
        let tree = Tree::of(&[
            (
                "crates/sessions/src/decide.rs",
                "fn asp_1() {}\n#[cfg(test)]\nmod tests {\n#[test]\nfn asp_2_is() {}\nfn asp_3() {} }",
            ),
            (
                "crates/sessions/tests/a.rs",
                "//! ASP-3\n/// ASP-3\n#[test]\nfn a() { is(\"asp_3\") } // asp_3",
            ),
            ("tests/blackbox/a.rs", "#[tokio::test(flavor = \"multi_thread\")]\nasync fn asp_4_is() {}"),
            ("crates/engine/tests/a.rs", "#[test]\nfn asp_5() {}"),
        ]);
        let protocol = Protocol { last: 5, complete: true, ..PROTOCOLS[0] };
        let finding = unnamed(&tree, &protocol).unwrap();
        assert_eq!(finding.text, "no test names ASP-1 3 5");
        assert_eq!(finding.weight, crate::tidy::Weight::Error);
    }

    #[test]
    fn a_protocol_that_is_being_built_only_takes_note() {
        let protocol = Protocol { last: 1, complete: false, ..PROTOCOLS[0] };
        assert_eq!(unnamed(&Tree::of(&[]), &protocol).unwrap().weight, crate::tidy::Weight::Note);
    }
}
