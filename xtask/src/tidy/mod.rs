//! The project rules that the compiler does not know, and the run of all of them.
//! Must not know: how one rule decides.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{console, workspace};
use tree::{File, Tree};

mod arrows;
mod bans;
mod features;
mod heads;
mod invariants;
pub(crate) mod items;
mod lex;
mod machine_paths;
mod names;
mod reach;
mod requirements;
mod sizes;
pub(crate) mod tree;

/// No options: every rule runs.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Information.
    Note,
    /// A defect to fix soon.
    Warning,
    /// Fails the run.
    Error,
}

/// A finding of a rule.
#[derive(Debug)]
struct Finding {
    weight: Weight,
    location: String,
    text: String,
}

impl Finding {
    /// An error at a byte of a file.
    fn at(file: &File, at: usize, text: String) -> Self {
        Self::error(&format!("{}:{}", file.path, file.line(at)), text)
    }

    /// An error without a line.
    fn error(location: &str, text: String) -> Self {
        Self { weight: Weight::Error, location: location.to_owned(), text }
    }

    /// The same without failing the run.
    fn warning(location: &str, text: String) -> Self {
        Self { weight: Weight::Warning, location: location.to_owned(), text }
    }

    /// A finding for information.
    fn note(location: &str, text: String) -> Self {
        Self { weight: Weight::Note, location: location.to_owned(), text }
    }
}

/// A rule: the name that invariants refer to, and the check.
struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Result<Vec<Finding>>,
}

/// Every rule.
const RULES: &[Rule] = &[
    Rule { name: "arrows", check: arrows::check },
    Rule { name: "features", check: features::check },
    Rule { name: "sizes", check: sizes::check },
    Rule { name: "heads", check: heads::check },
    Rule { name: "bans", check: bans::check },
    Rule { name: "names", check: names::check },
    Rule { name: "reach", check: reach::check },
    Rule { name: "requirements", check: requirements::check },
    Rule { name: "invariants", check: invariants::check },
    Rule { name: "machine-paths", check: machine_paths::check },
];

/// The findings of all rules about a tree.
struct Report {
    lines: Vec<String>,
    errors: usize,
}

/// Runs every rule over the workspace and prints the findings.
pub(crate) fn run(_: &Args) -> Result<()> {
    check(workspace::root())
}

/// Runs every rule over the tree at `root` and prints the findings; fails if one of them is an error.
pub(crate) fn check(root: &Path) -> Result<()> {
    let report = report(root)?;
    for line in &report.lines {
        console::print_line(line);
    }
    match report.errors {
        0 => Ok(()),
        1 => bail!("a rule of the house is broken, at the place above"),
        errors => bail!("rules of the house are broken, at the {errors} places above"),
    }
}

fn report(root: &Path) -> Result<Report> {
    let tree = Tree::read(root)?;
    let mut report = Report { lines: Vec::new(), errors: 0 };
    for rule in RULES {
        let mut findings = (rule.check)(&tree)?;
        findings.sort_by_key(|finding| finding.weight);
        for Finding { weight, location, text } in findings {
            let weight = match weight {
                Weight::Note => "note",
                Weight::Warning => "warning",
                Weight::Error => {
                    report.errors += 1;
                    "error"
                }
            };
            report.lines.push(format!("{weight}[{}] {location}: {text}", rule.name));
        }
    }
    report.lines.push(format!("{} rules read {} files", RULES.len(), tree.files.len()));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let report = report(workspace::root()).unwrap();
        assert_eq!(report.errors, 0, "\n{}", report.lines.join("\n"));
    }

    #[test]
    fn rules_have_names_of_their_own() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
