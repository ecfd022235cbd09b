//! The files that the rules read, from the working tree.
//! Must not know: any rule.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{
    items,
    lex::{self, Token},
};
use crate::process;

/// One text file of the repository.
pub(crate) struct File {
    /// The path from the root, with `/`.
    pub(crate) path: String,
    /// The content.
    pub(crate) text: String,
    /// For Rust: the positions of its words and signs. Empty for other files.
    ranges: Vec<Range<usize>>,
}

impl File {
    /// A file with this content.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let ranges = if path.ends_with(".rs") { lex::ranges(text) } else { Vec::new() };
        Self { path: path.to_owned(), text: text.to_owned(), ranges }
    }

    /// Whether it is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The words and signs of Rust source.
    pub(crate) fn tokens(&self) -> Vec<Token<'_>> {
        let token = |range: &Range<usize>| Token { at: range.start, text: &self.text[range.clone()] };
        self.ranges.iter().map(token).collect()
    }

    /// The line number of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// The number of lines within a span with a token that counts: neither blank lines nor comments.
    pub(crate) fn code_lines(&self, span: Range<usize>, counts: fn(&str) -> bool) -> usize {
        let blank = |byte| if byte == b'\n' { byte } else { b' ' };
        let mut code: Vec<u8> = self.text[span.clone()].bytes().map(blank).collect();
        let first = self.ranges.partition_point(|range| range.start < span.start);
        for range in self.ranges[first..].iter().take_while(|range| range.end <= span.end) {
            let token = &self.text[range.clone()];
            if counts(token) {
                code[range.start - span.start..range.end - span.start].copy_from_slice(token.as_bytes());
            }
        }
        code.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count()
    }

    /// Whether the whole file is test code, by its path or name.
    pub(crate) fn is_test_file(&self) -> bool {
        let of_tests = |part: &str| {
            let stem = part.trim_end_matches(".rs");
            matches!(stem, "tests" | "benches" | "conformance") || stem.ends_with("_tests")
        };
        self.path.split('/').any(of_tests)
    }

    /// The `#[cfg(test)]` modules, in bytes.
    pub(crate) fn test_regions(&self) -> Vec<Range<usize>> {
        items::test_regions(&self.tokens())
    }

    /// Whether a byte is in test code.
    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.is_test_file() || self.test_regions().iter().any(|region| region.contains(&at))
    }

    /// The path without its last part: `crates/log/src` of `crates/log/src/lib.rs`.
    pub(crate) fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }
}

/// The whole repository, without what Git ignores.
pub(crate) struct Tree {
    /// The root directory.
    pub(crate) root: PathBuf,
    /// Every text file, by path.
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the working tree: all files that Git tracks or would track.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut paths = listed_by_git(root).or_else(|_| walk(root, Path::new("")))?;
        paths.sort();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let at = root.join(&path);
            // Deleted but not yet committed, or a dangling link.
            if !at.is_file() {
                continue;
            }
            let bytes = std::fs::read(&at).with_context(|| format!("could not read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File::new(&path, &text));
            }
        }
        Ok(Self { root: root.to_owned(), files })
    }

    /// A tree of these paths and contents, for the tests of rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Self { root: PathBuf::new(), files }
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Every Rust file.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }
}

fn listed_by_git(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = process::output(&mut git)?;
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// For a tree without Git, such as an unpacked archive: everything except the build directory and hidden
/// directories.
fn walk(root: &Path, below: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let at = root.join(below);
    for entry in std::fs::read_dir(&at).with_context(|| format!("could not list {}", at.display()))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" && entry.file_name() != ".git" {
                paths.extend(walk(root, &path)?);
            }
        } else {
            paths.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_are_not_comments_or_blanks() {
        let file = File::new("a.rs", "fn a() {\n    // why\n\n    b();\n}\n");
        assert_eq!(file.code_lines(0..file.text.len(), |_| true), 3);
        assert_eq!(file.line(file.text.find("b()").unwrap()), 4);
    }

    #[test]
    fn both_ways_of_listing_find_this_file() {
        let root = crate::workspace::root();
        let walked = walk(root, Path::new("")).unwrap();
        assert!(walked.iter().any(|path| path == "xtask/src/tidy/tree.rs"));
        assert!(walked.iter().all(|path| !path.starts_with("target/")));
        assert!(Tree::read(root).unwrap().file("xtask/src/tidy/tree.rs").is_some());
    }
}
