//! Lines of code per crate: production, tests and conformance suites apart; blank and comment lines are not counted.
//! Must not know: any rule of tidy.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::{
    console,
    tidy::{
        items,
        tree::{File, Tree},
    },
    workspace,
};

/// No options: the whole workspace is counted.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The lines of one crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lines {
    production: usize,
    test: usize,
    conformance: usize,
}

impl Lines {
    fn add(&mut self, other: Self) {
        self.production += other.production;
        self.test += other.test;
        self.conformance += other.conformance;
    }

    fn row(self, name: &str) -> String {
        format!("{name:<20} {:>10} {:>10} {:>12}", self.production, self.test, self.conformance)
    }
}

/// Prints one row per crate and the totals.
pub(crate) fn run(_: &Args) -> Result<()> {
    let tree = Tree::read(workspace::root())?;
    let counted = count(&tree);
    console::print_line(&format!(
        "{:<20} {:>10} {:>10} {:>12}",
        "crate", "production", "test", "conformance"
    ));
    let mut total = Lines::default();
    for (name, lines) in counted {
        console::print_line(&lines.row(name));
        total.add(lines);
    }
    console::print_line(&total.row("all"));
    Ok(())
}

fn count(tree: &Tree) -> BTreeMap<&str, Lines> {
    let test_modules: BTreeSet<String> = tree.rust().flat_map(test_modules).collect();
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    for file in tree.rust() {
        let lines = of_file(file, test_modules.contains(&file.path));
        crates.entry(crate_of(&file.path)).or_default().add(lines);
    }
    crates
}

/// `crates/log/src/lib.rs` is in `log`, `tests/blackbox/…` in `blackbox`, `bench/…` in `bench`.
fn crate_of(path: &str) -> &str {
    let mut parts = path.split('/');
    match parts.next() {
        Some("crates" | "tests") => parts.next().unwrap_or(path),
        first => first.unwrap_or(path),
    }
}

fn of_file(file: &File, is_test_module: bool) -> Lines {
    let all = file.code_lines(0..file.text.len(), |_| true);
    if file.path.split('/').any(|part| matches!(part, "conformance" | "rigged.rs")) {
        return Lines { conformance: all, ..Lines::default() };
    }
    let test = if is_test_module || file.is_test_file() || file.path.starts_with("tests/") {
        all
    } else {
        file.test_regions().into_iter().map(|region| file.code_lines(region, |_| true)).sum()
    };
    Lines { production: all - test, test, conformance: 0 }
}

/// The files of the modules that this file declares under `#[cfg(test)]`.
fn test_modules(file: &File) -> Vec<String> {
    let directory = match file.path.rsplit_once('/') {
        Some((directory, "lib.rs" | "main.rs" | "mod.rs")) => directory,
        _ => file.path.trim_end_matches(".rs"),
    };
    items::outer_modules(&file.tokens())
        .iter()
        .filter(|module| file.text[module.attributes_at..module.at].contains("#[cfg(test)]"))
        .map(|module| format!("{directory}/{}.rs", module.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_and_tests_are_counted_apart() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! A.\n\n#[cfg(test)]\nmod scenes;\n/// B.\nfn b() {} // c\n"),
            ("crates/a/src/scenes.rs", "fn c() {}\n"),
            ("crates/a/src/k.rs", "#[cfg(test)]\nmod forms;\n"),
            ("crates/a/src/k/forms.rs", "fn l() {}\n"),
            ("crates/a/src/d.rs", "fn d() {\n    /* e */\n}\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n"),
            ("crates/a/src/conformance/g.rs", "fn g() {}\n"),
            ("crates/a/tests/h.rs", "const H: &str = \"one\n  two\n\";\n"),
            ("tests/blackbox/src/lib.rs", "fn i() {}\n"),
        ]);
        assert_eq!(
            count(&tree),
            BTreeMap::from([
                ("a", Lines { production: 7, test: 9, conformance: 1 }),
                ("blackbox", Lines { production: 0, test: 1, conformance: 0 }),
            ])
        );
    }
}
