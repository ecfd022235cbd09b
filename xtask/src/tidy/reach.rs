//! Dead files: Rust source that no crate root includes, so that it is never compiled.
//! Must not know: the content of a file except its modules.

use std::collections::BTreeSet;

use anyhow::Result;
use toml::{Table, Value};

use super::{
    Finding,
    items::{self, OuterModule},
    tree::{File, Tree},
};

/// Directories in which every file, and every `main.rs` one level down, is a crate root.
const ROOT_DIRECTORIES: &[&str] = &["src/bin", "tests", "benches", "examples"];

/// Follows `mod` from every crate root, and reports the files that it did not reach.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut met = BTreeSet::new();
    let mut open = Vec::new();
    for manifest in tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        open.extend(roots(tree, manifest).map(|root| (root, true)));
    }
    while let Some((file, is_root)) = open.pop() {
        if met.insert(file.path.clone()) {
            open.extend(modules(tree, file, is_root).into_iter().map(|module| (module, false)));
        }
    }
    Ok(tree
        .rust()
        .filter(|file| !met.contains(&file.path))
        .map(|file| {
            Finding::error(&file.path, "no crate root reaches this file: delete it or name it".to_owned())
        })
        .collect())
}

/// The crate roots of one package: by convention, and by its manifest.
fn roots<'a>(tree: &'a Tree, manifest: &'a File) -> impl Iterator<Item = &'a File> {
    let package = manifest.directory();
    let table: Table = manifest.text.parse().unwrap_or_default();
    let is_package = table.contains_key("package");
    let named: Vec<String> = ["lib", "bin", "test", "bench", "example"]
        .iter()
        .filter_map(|section| table.get(*section))
        .flat_map(|section| section.as_array().cloned().unwrap_or_else(|| vec![section.clone()]))
        .filter_map(|target| target.get("path").and_then(Value::as_str).map(str::to_owned))
        .collect();
    tree.rust().filter(move |file| {
        if !is_package {
            return false;
        }
        let Some(inside) = within(&file.path, package) else { return false };
        matches!(inside, "src/lib.rs" | "src/main.rs" | "build.rs")
            || named.iter().any(|path| path == inside)
            || ROOT_DIRECTORIES.iter().any(|directory| {
                within(inside, directory).is_some_and(|rest| match rest.split_once('/') {
                    None => true,
                    Some((_, file)) => file == "main.rs",
                })
            })
    })
}

/// The rest of `path` below `directory`.
fn within<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    if directory.is_empty() { Some(path) } else { path.strip_prefix(directory)?.strip_prefix('/') }
}

/// The files of the `mod name;` items of this file.
fn modules<'a>(tree: &'a Tree, file: &File, is_root: bool) -> Vec<&'a File> {
    let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    let own =
        if is_root || stem == "mod" { file.directory().to_owned() } else { join(file.directory(), stem) };
    items::outer_modules(&file.tokens())
        .iter()
        .flat_map(|module| match path_attribute(file, module) {
            Some(path) => vec![join(file.directory(), &path)],
            None => {
                let directory =
                    module.within.iter().fold(own.clone(), |directory, part| join(&directory, part));
                let base = join(&directory, &module.name);
                vec![format!("{base}.rs"), format!("{base}/mod.rs")]
            }
        })
        .filter_map(|path| tree.file(&path))
        .collect()
}

fn path_attribute(file: &File, module: &OuterModule) -> Option<String> {
    let attributes = &file.text[module.attributes_at..module.at];
    let (_, value) = attributes.split_once("#[path")?;
    value.split('"').nth(1).map(str::to_owned)
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).unwrap().into_iter().map(|finding| finding.location).collect()
    }

    #[test]
    fn a_file_that_nothing_names_is_dead() {
        let found = dead(&[
            ("crates/a/Cargo.toml", "[package]"),
            ("crates/a/src/lib.rs", "mod b; // mod e;\nmod inline { mod f; }"),
            ("crates/a/src/b.rs", "mod c;\n#[path = \"elsewhere.rs\"]\nmod d;"),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/elsewhere.rs", ""),
            ("crates/a/src/e.rs", ""),
            ("crates/a/src/inline/f.rs", ""),
        ]);
        assert_eq!(found, ["crates/a/src/e.rs"]);
    }

    #[test]
    fn tests_binaries_and_named_targets_are_roots() {
        let found = dead(&[
            ("x/Cargo.toml", "[package]\n[[bin]]\npath = \"tools/t.rs\"\n[lib]\npath = \"l.rs\""),
            ("x/tests/a.rs", "mod shared;"),
            ("x/tests/shared/mod.rs", ""),
            ("x/tests/orphan/b.rs", ""),
            ("x/src/bin/c/main.rs", "mod d;"),
            ("x/src/bin/c/d.rs", ""),
            ("x/tools/t.rs", ""),
            ("x/l.rs", ""),
            ("x/build.rs", ""),
        ]);
        assert_eq!(found, ["x/tests/orphan/b.rs"]);
    }
}
