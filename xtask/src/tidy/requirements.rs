//! Every requirement of a protocol is named by a test: `ASP-43` in a comment or text, `asp_43` in a name.
//! Must not know: what a requirement asks for, or whether the test that names it is any good.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{
    Finding,
    tree::{File, Tree},
};

/// A protocol whose requirements have numbers.
struct Protocol {
    name: &'static str,
    /// `ASP` of `ASP-43`.
    prefix: &'static str,
    /// Numbers run from 1 to this one.
    last: usize,
    /// Where its tests stand.
    places: &'static [&'static str],
    /// Once set, a requirement that no test names fails the run; until then it is a note.
    complete: bool,
}

/// The protocols, each in the year it is built.
const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "Agent Session Protocol",
        prefix: "ASP",
        last: 106,
        places: &["crates/kernel/", "crates/accounts/", "crates/sessions/", "tests/blackbox/"],
        complete: true,
    },
    Protocol {
        name: "Agent Channel Protocol v2",
        prefix: "CH",
        last: 37,
        places: &["crates/channels/", "crates/plenary/", "tests/blackbox/"],
        complete: true,
    },
    Protocol {
        name: "Agent-Channel Fan-Out",
        prefix: "FO",
        last: 96,
        // What the memo asks of recipients, the client does.
        places: &["crates/kernel/", "crates/hub/", "crates/frames/", "crates/client/", "tests/blackbox/"],
        complete: false,
    },
    Protocol {
        name: "Agentic Protocol",
        prefix: "AP",
        last: 106,
        places: &["crates/kernel/", "crates/context/", "tests/blackbox/"],
        complete: false,
    },
    Protocol {
        name: "Agent Protocol",
        prefix: "SC",
        last: 48,
        places: &["crates/runs/", "tests/blackbox/"],
        complete: true,
    },
];

/// Checks every protocol.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    Ok(PROTOCOLS.iter().filter_map(|protocol| unnamed(tree, protocol)).collect())
}

fn unnamed(tree: &Tree, protocol: &Protocol) -> Option<Finding> {
    let mut named = BTreeSet::new();
    for file in
        tree.files.iter().filter(|file| protocol.places.iter().any(|place| file.path.starts_with(place)))
    {
        for text in test_texts(file) {
            named.extend(numbers(text, protocol.prefix));
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

/// The parts of a file that are tests: all of it, or its `#[cfg(test)]` modules.
fn test_texts(file: &File) -> Vec<&str> {
    if file.is_test_file() {
        return vec![&file.text];
    }
    file.test_regions().into_iter().map(|region| &file.text[region]).collect()
}

/// The numbers that follow the prefix: `ASP-43`, `asp_43`, `asp_43_44`.
fn numbers(text: &str, prefix: &str) -> BTreeSet<usize> {
    let lower = text.to_ascii_lowercase();
    let prefix = prefix.to_ascii_lowercase();
    let mut found = BTreeSet::new();
    let begins = |at: usize| lower[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
    for (at, _) in lower.match_indices(&prefix).filter(|(at, _)| begins(*at)) {
        let after = &lower[at + prefix.len()..];
        let Some(separator) = after.chars().next().filter(|c| matches!(c, '-' | '_')) else { continue };
        let mut parts = after[1..].split(separator);
        // A name may go on with more numbers, then with words: `asp_43_44_replay_comes_first`.
        for part in parts.by_ref() {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let Ok(number) = part[..digits].parse() else { break };
            found.insert(number);
            if separator == '-' || digits < part.len() {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_names_and_comments() {
        let found =
            numbers("// ASP-7, ASP-106.\nfn asp_43_44_replay_first() {} asp_9() grasp-5 ASP 12", "ASP");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [7, 9, 43, 44, 106]);
    }

    #[test]
    fn only_tests_count() {
        let tree = Tree::of(&[
            ("crates/sessions/src/decide.rs", "// ASP-1\n#[cfg(test)]\nmod tests { fn asp_2() {} }"),
            ("crates/sessions/src/decide/tests.rs", "// ASP-3"),
            ("tests/blackbox/scenarios/a.json", "\"ASP-4\""),
            ("crates/engine/tests/a.rs", "// ASP-5"),
        ]);
        let protocol = Protocol { last: 5, complete: true, ..PROTOCOLS[0] };
        let finding = unnamed(&tree, &protocol).unwrap();
        assert_eq!(finding.text, "no test names ASP-1 5");
        assert_eq!(finding.weight, crate::tidy::Weight::Error);
    }

    #[test]
    fn a_protocol_that_is_being_built_only_takes_note() {
        let protocol = Protocol { last: 1, complete: false, ..PROTOCOLS[0] };
        assert_eq!(unnamed(&Tree::of(&[]), &protocol).unwrap().weight, crate::tidy::Weight::Note);
    }
}
