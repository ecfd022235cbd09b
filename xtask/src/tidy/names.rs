//! Names that say nothing about the content of a module or type.
//! Must not know: better names.

use anyhow::Result;

use super::{Finding, items, tree::Tree};

/// Words that no name of a module or type may contain.
const EMPTY: &[&str] = &["manager", "helper", "util", "common", "service"];

/// Checks the modules and types of every Rust file.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for name in items::named(&file.tokens()) {
            if let Some(word) = empty_word(name.text) {
                let text = format!("`{}` says `{word}`, not what it owns", name.text);
                findings.push(Finding::at(file, name.at, text));
            }
        }
    }
    Ok(findings)
}

/// The forbidden word in a name, also in the plural.
fn empty_word(name: &str) -> Option<&'static str> {
    words(name).into_iter().find_map(|word| {
        EMPTY.iter().copied().find(|empty| word == *empty || word.strip_suffix('s') == Some(empty))
    })
}

/// The words of a name: `SessionManager` and `session_manager` are both `session`, `manager`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_and_others_are_not() {
        let tree = Tree::of(&[(
            "a.rs",
            "mod utils;\nstruct SessionManager;\nenum TestHelpers {}\ntrait Service {}\n\
             mod utility;\nstruct Commonplace;\nfn helper() {}\nimpl Service for X { type Service = Y; }",
        )]);
        let found: Vec<_> = check(&tree).unwrap().into_iter().map(|finding| finding.location).collect();
        assert_eq!(found, ["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4"]);
    }
}
