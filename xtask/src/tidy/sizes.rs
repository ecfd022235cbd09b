//! The size limits of files and functions.
//! Must not know: their content.

use anyhow::Result;

use super::{Finding, items, tree::Tree};

/// A longer file should be split.
const FILE_LINES_LARGE: usize = 400;
/// A longer file fails the run.
const FILE_LINES_MAX: usize = 800;
/// Most lines of code in one function, including its head and closing brace; blank lines, comments and
/// lines of text alone do not count.
const FUNCTION_LINES_MAX: usize = 70;

/// Checks every Rust file.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            let text =
                format!("{lines} lines; more than {FILE_LINES_MAX} is never right: split it by what it owns");
            findings.push(Finding::error(&file.path, text));
        } else if lines > FILE_LINES_LARGE {
            findings.push(Finding::warning(
                &file.path,
                format!("{lines} lines; past {FILE_LINES_LARGE} is large"),
            ));
        }
        for function in items::functions(&file.tokens()) {
            let lines = file.code_lines(function.span.clone(), |token| !token.ends_with('"'));
            if lines > FUNCTION_LINES_MAX {
                let name = function.name;
                let text = format!("`fn {name}` has {lines} lines of code; {FUNCTION_LINES_MAX} is the most");
                findings.push(Finding::at(file, function.span.start, text));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Weight;

    fn weights(text: &str) -> Vec<Weight> {
        check(&Tree::of(&[("a.rs", text)])).unwrap().iter().map(|finding| finding.weight).collect()
    }

    #[test]
    fn a_large_file_is_a_warning_and_a_huge_one_an_error() {
        assert_eq!(weights(&"//\n".repeat(FILE_LINES_LARGE)), []);
        assert_eq!(weights(&"//\n".repeat(FILE_LINES_LARGE + 1)), [Weight::Warning]);
        assert_eq!(weights(&"//\n".repeat(FILE_LINES_MAX + 1)), [Weight::Error]);
    }

    #[test]
    fn a_long_function_is_an_error_and_comments_do_not_lengthen_it() {
        let long_function = |line: &str, count: usize| format!("fn long() {{\n{}}}\n", line.repeat(count));
        assert_eq!(weights(&long_function("a();\n", FUNCTION_LINES_MAX - 2)), []);
        assert_eq!(weights(&long_function("a();\n", FUNCTION_LINES_MAX - 1)), [Weight::Error]);
        assert_eq!(weights(&long_function("// why\n", FUNCTION_LINES_MAX)), []);
    }
}
