//! Every invariant of `docs/invariants.md` and every promise of `docs/security.md` appears once and
//! names an existing check.
//! Must not know: whether the check is strong enough.
//!
//! An invariant is an item of the numbered list under `## Invariants`, a promise one under `## What is
//! promised`. After the word `check:` come one or more names in backticks: `tidy: rule`, `lint: name`
//! (of the workspace or of `clippy.toml`), or `path/file.rs::test`.

use anyhow::Result;
use toml::{Table, Value};

use super::{Finding, RULES, items, tree::Tree};

/// The files with such a list, and their headings.
const LISTS: [(&str, &str); 2] =
    [("docs/invariants.md", "## Invariants"), ("docs/security.md", "## What is promised")];

/// A function of a suite for all backends counts as a test without the attribute, if the suite's
/// `mod.rs` lists it.
const SUITES: [&str; 2] = ["crates/log/src/conformance/", "crates/retrieval/src/conformance/"];

/// One item of the list.
struct Invariant {
    number: usize,
    line: usize,
    text: String,
}

impl Invariant {
    /// Its first sentence, between asterisks; without them the whole text.
    fn title(&self) -> &str {
        self.text.split("**").nth(1).unwrap_or(&self.text)
    }
}

/// Checks both lists.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    Ok(LISTS.iter().flat_map(|(path, heading)| check_list(tree, path, heading)).collect())
}

fn check_list(tree: &Tree, path: &str, heading: &str) -> Vec<Finding> {
    let Some(file) = tree.file(path) else {
        return vec![Finding::error(path, "the file is missing".to_owned())];
    };
    let invariants = read(&file.text, heading);
    let mut findings = Vec::new();
    if invariants.is_empty() {
        findings.push(Finding::error(path, format!("no numbered list under `{heading}`")));
    }
    for (index, invariant) in invariants.iter().enumerate() {
        let location = format!("{path}:{}", invariant.line);
        if invariant.number != index + 1 {
            findings.push(Finding::error(
                &location,
                format!("number {} should be {}", invariant.number, index + 1),
            ));
        }
        if let Some(first) = invariants[..index].iter().find(|first| first.title() == invariant.title()) {
            let text = format!("number {} says the same as number {}", invariant.number, first.number);
            findings.push(Finding::error(&location, text));
        }
        let checks = checks(&invariant.text);
        if checks.is_empty() {
            findings.push(Finding::error(&location, format!("number {} names no check", invariant.number)));
        }
        for name in checks {
            if let Err(why) = find(tree, &name) {
                findings.push(Finding::error(&location, format!("check `{name}` {why}")));
            }
        }
    }
    findings
}

/// The items of the numbered list, each with its continuation lines.
fn read(text: &str, heading: &str) -> Vec<Invariant> {
    let mut invariants: Vec<Invariant> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("# ") || line.starts_with("## ") {
            inside = line.trim_end() == heading;
        } else if inside {
            let item = line.split_once(". ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
            if let Some((number, rest)) = item {
                invariants.push(Invariant { number, line: index + 1, text: rest.to_owned() });
            } else if let Some(last) = invariants.last_mut().filter(|_| line.starts_with(' ')) {
                last.text.push(' ');
                last.text.push_str(line.trim());
            }
        }
    }
    invariants
}

/// The names in backticks after `check:`.
fn checks(text: &str) -> Vec<String> {
    let Some((_, named)) = text.rsplit_once("check:") else { return Vec::new() };
    // Every second part is between backticks.
    named.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Checks that the named check exists in the tree; the error is a continuation of its name.
fn find(tree: &Tree, name: &str) -> Result<(), String> {
    if let Some(rule) = name.strip_prefix("tidy: ") {
        let known = RULES.iter().any(|known| known.name == rule);
        return known.then_some(()).ok_or_else(|| "is no rule of tidy".to_owned());
    }
    if let Some(lint) = name.strip_prefix("lint: ") {
        return has_lint(tree, lint).then_some(()).ok_or_else(|| "is no lint of this workspace".to_owned());
    }
    let Some((path, rest)) = name.split_once("::") else {
        return Err("is neither `tidy: …`, `lint: …` nor `path::test`".to_owned());
    };
    let file = tree.file(path).ok_or_else(|| format!("names no file: {path}"))?;
    let test = rest.rsplit("::").next().unwrap_or(rest);
    let functions = items::functions(&file.tokens());
    match functions.iter().find(|function| function.name == test) {
        None => Err(format!("names no function of {path}")),
        Some(function) if !function.test && !in_suite(tree, path, test) => {
            Err("is a function, not a test".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// Whether the suite generates a test of this function for each backend.
fn in_suite(tree: &Tree, path: &str, test: &str) -> bool {
    let suite = SUITES.iter().find(|suite| path.starts_with(**suite));
    let list = suite.and_then(|suite| tree.file(&format!("{suite}mod.rs")));
    list.is_some_and(|list| list.tokens().iter().any(|token| token.text == test))
}

/// Whether the root manifest sets the lint, or `clippy.toml` disallows the method or type.
fn has_lint(tree: &Tree, lint: &str) -> bool {
    let table =
        |path: &str| -> Table { tree.file(path).and_then(|file| file.text.parse().ok()).unwrap_or_default() };
    let manifest = table("Cargo.toml");
    let groups = manifest.get("workspace").and_then(|workspace| workspace.get("lints")?.as_table());
    let set = groups.is_some_and(|groups| groups.values().any(|group| group.get(lint).is_some()));
    let disallowed = table("clippy.toml")
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .any(|entry| entry.as_str().or_else(|| entry.get("path")?.as_str()) == Some(lint));
    set || disallowed
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[test]\nfn holds() {}\nfn plain() {}";

    fn findings(list: &str) -> Vec<String> {
        let map = format!("# Map\n\n1. not this one\n\n## Invariants\n\n{list}\n\n## After\n\n7. nor this\n");
        let tree = Tree::of(&[
            (LISTS[0].0, &map),
            ("a/b.rs", TESTS),
            ("crates/log/src/conformance/part.rs", TESTS),
            ("crates/log/src/conformance/mod.rs", "conformance!(part: plain)"),
            ("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"forbid\""),
            ("clippy.toml", "disallowed-methods = [{ path = \"std::thread::sleep\", reason = \"\" }]"),
        ]);
        check_list(&tree, LISTS[0].0, LISTS[0].1).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn checks_that_exist_pass() {
        let list = "1. **One.** Text,\n   more of it. check: `tidy: arrows`, `a/b.rs::tests::holds`\n\
                    2. Two. check: `lint: unsafe_code` `lint: std::thread::sleep`\n\n### More\n\n\
                    3. Three. check: `crates/log/src/conformance/part.rs::plain`";
        assert_eq!(findings(list), Vec::<String>::new());
    }

    #[test]
    fn an_invariant_without_a_check_is_found() {
        assert_eq!(findings("1. One, `quoted`."), ["number 1 names no check"]);
    }

    #[test]
    fn a_missing_check_is_found() {
        for name in ["tidy: gone", "lint: gone", "a/gone.rs::holds", "a/b.rs::gone", "a/b.rs::plain", "gone"]
        {
            assert_eq!(findings(&format!("1. One. check: `{name}`")).len(), 1, "{name}");
        }
    }

    #[test]
    fn numbers_run_without_a_gap() {
        assert_eq!(
            findings("1. A. check: `tidy: arrows`\n3. B. check: `tidy: arrows`"),
            ["number 3 should be 2"]
        );
    }

    #[test]
    fn a_repeated_invariant_is_found() {
        let twice = "1. **One.** check: `tidy: arrows`\n2. **Two.** check: `tidy: arrows`\n\n### More\n\n\
                     3. **One.** In other words. check: `tidy: sizes`";
        assert_eq!(findings(twice), ["number 3 says the same as number 1"]);
    }

    #[test]
    fn a_list_that_is_missing_is_found() {
        assert_eq!(findings("nothing"), ["no numbered list under `## Invariants`"]);
    }
}
