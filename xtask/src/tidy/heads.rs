//! Every file begins with what it owns and what it must not know.
//! Must not know: whether these statements are true.

use anyhow::Result;

use super::{Finding, tree::Tree};

/// Checks that the first line of each Rust file is a `//!` comment with text.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let silent = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("//!").is_none_or(|text| text.trim().is_empty())
    };
    Ok(tree
        .rust()
        .filter(|file| silent(&file.text))
        .map(|file| {
            let text =
                "the first line must be `//!`: what this file owns, then what it must not know".to_owned();
            Finding::error(&file.path, text)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_head_is_found() {
        let tree = Tree::of(&[
            ("good.rs", "//! Owns this.\n"),
            ("late.rs", "use a;\n//! Owns this.\n"),
            ("mute.rs", "//!\n"),
            ("empty.rs", ""),
            ("notes.md", "no Rust"),
        ]);
        let found: Vec<_> = check(&tree).unwrap().into_iter().map(|finding| finding.location).collect();
        assert_eq!(found, ["late.rs", "mute.rs", "empty.rs"]);
    }
}
