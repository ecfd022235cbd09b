//! The project contains no paths of a developer's machine.
//! Must not know: Rust.

use anyhow::Result;

use super::{Finding, tree::Tree};

/// The prefixes of such paths. Each is split in two, so that this list does not match itself.
const PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("/tmp/bash", "_jobs"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Checks every text file.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for path in PATHS {
            for (at, _) in file.text.match_indices(path).filter(|(at, _)| begins(&file.text, *at)) {
                findings.push(Finding::at(file, at, format!("`{path}…` is a path of one machine")));
            }
        }
    }
    Ok(findings)
}

/// Whether a path begins here: `docs/work/` is a path of the project.
fn begins(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && !"._-".contains(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found_in_any_text() {
        let bad = format!("see {}nick/notes\n", PATHS[3]);
        let tree = Tree::of(&[("a.md", &bad), ("b.rs", "//! docs/work/ is ours, /sessions/ a route\n")]);
        let found: Vec<_> = check(&tree).unwrap().into_iter().map(|finding| finding.location).collect();
        assert_eq!(found, ["a.md:1"]);
    }
}
