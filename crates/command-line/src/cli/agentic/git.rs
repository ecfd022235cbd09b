//! The work in a git repository, read by running `git`.
//! Must not know: packages.

use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use plenary_kernel::json::digest;

use crate::cli::failure::Failure;

/// Maximum number of commits that are listed.
pub(super) const COMMITS_MAX: usize = 200;
/// The number of newest commits to use if there is no earlier deposit.
pub(super) const COMMITS_AT_FIRST: usize = 20;
/// Maximum number of files that are listed.
pub(super) const FILES_MAX: usize = 200;
/// Largest file that is hashed, in bytes; a larger one is listed without its hash.
const HASHED_BYTES_MAX: u64 = 32 << 20;

/// Overrides of settings by which a repository may name programs: for file changes, signatures and differences, and in
/// a bare repository within another repository's files. Git runs none of them, and fetches nothing.
const HARMLESS: [&str; 12] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "diff.external=",
    "-c",
    "core.pager=cat",
    "-c",
    "core.sshCommand=false",
    "-c",
    "safe.bareRepository=explicit",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    /// Its id in full.
    pub(super) id: String,
    /// Its first line.
    pub(super) subject: String,
    /// The rest of its message.
    pub(super) body: String,
    pub(super) author: String,
}

/// A file as it is at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Relative to the root of the repository.
    pub(super) path: String,
    pub(super) size_bytes: u64,
    /// `sha256:<hex>`; `None` if the file is too large.
    pub(super) hash: Option<String>,
}

/// A repository and its current commit.
#[derive(Debug)]
pub(super) struct Repository {
    /// The directory in which git runs.
    directory: PathBuf,
    /// The commit that is checked out.
    pub(super) head: String,
}

impl Repository {
    /// The repository of a directory.
    ///
    /// # Errors
    /// If git is missing, there is no repository, or it has no commit yet.
    pub(super) fn of(directory: &Path) -> Result<Self, Failure> {
        let mut repository = Self { directory: directory.to_owned(), head: String::new() };
        if repository.run(&["rev-parse", "--git-dir"])?.is_none() {
            return Err(Failure::local_with(
                format!("{} is not in a Git repository", directory.display()),
                "run this inside a Git repository, create one with `git init`, or deposit without --git",
            ));
        }
        let head = repository.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let Some(head) = head else {
            return Err(Failure::local_with(
                "the repository has no commit yet",
                "commit something, or deposit without --git",
            ));
        };
        repository.head = text(&head);
        Ok(repository)
    }

    /// The hooks directory of a directory's repository.
    ///
    /// # Errors
    /// If the repository shares its hooks with others by `core.hooksPath`.
    pub(super) fn hooks_dir(directory: &Path) -> Result<PathBuf, Failure> {
        let hooks = Self::path_from_git(directory, &["rev-parse", "--git-path", "hooks"])?;
        let own =
            [Self::top(directory)?, Self::path_from_git(directory, &["rev-parse", "--git-common-dir"])?];
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if own.iter().any(|own| real(&hooks).starts_with(real(own))) {
            return Ok(hooks);
        }
        Err(Failure::local_with(
            format!(
                "the hooks are in {}, which other repositories share (`core.hooksPath`)",
                hooks.display()
            ),
            "give this repository its own: `git config core.hooksPath .git/hooks`",
        ))
    }

    /// The root of the working tree that contains a directory.
    pub(super) fn top(directory: &Path) -> Result<PathBuf, Failure> {
        Self::path_from_git(directory, &["rev-parse", "--show-toplevel"])
    }

    fn path_from_git(directory: &Path, args: &[&str]) -> Result<PathBuf, Failure> {
        let repository = Self { directory: directory.to_owned(), head: String::new() };
        match repository.run(args)? {
            Some(path) => Ok(directory.join(text(&path))),
            None => Err(Failure::local_with(
                format!("{} is not in a Git repository", directory.display()),
                "run this inside a Git repository, or create one with `git init`",
            )),
        }
    }

    /// Git's output; `None` if git fails.
    fn run(&self, args: &[&str]) -> Result<Option<Vec<u8>>, Failure> {
        self.run_with(args, None)
    }

    fn run_with(&self, args: &[&str], input: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Failure> {
        let missing = || {
            Failure::local_with(
                "`git` is not installed on this machine",
                "install git, or deposit without --git",
            )
        };
        let failed = |error: std::io::Error| Failure::local(format!("git cannot be run: {error}"));
        let mut child = Command::new(program(std::env::var_os("PATH")).ok_or_else(missing)?)
            .args(HARMLESS)
            .args(args)
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        // A thread of its own writes the input: git may fill its output pipe before it has read everything.
        let writer = child.stdin.take().zip(input).map(|(mut stdin, input)| {
            std::thread::spawn(move || {
                let _whoever_stops_reading_has_enough = stdin.write_all(&input);
            })
        });
        let output = child.wait_with_output().map_err(failed)?;
        if let Some(writer) = writer {
            let _ended = writer.join();
        }
        Ok(output.status.success().then_some(output.stdout))
    }

    /// The merge base of this commit and `commit`; `None` if `commit` is unknown here.
    pub(super) fn base_with(&self, commit: &str) -> Result<Option<String>, Failure> {
        // The value comes from a package: only an object id may get onto git's command line.
        if !(7..=64).contains(&commit.len()) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        Ok(self.run(&["merge-base", commit, &self.head])?.map(|id| text(&id)))
    }

    /// The full id of a commit that a person names.
    pub(super) fn commit(&self, name: &str) -> Result<String, Failure> {
        let name = format!("{name}^{{commit}}");
        let id = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])?;
        let unknown =
            || Failure::usage(format!("there is no commit `{name}` in this repository"), "see `git log`");
        id.map(|id| text(&id)).ok_or_else(unknown)
    }

    /// The commits after `base`, newest first, and their total number; without `base` the newest ones.
    pub(super) fn commits(&self, base: Option<&str>) -> Result<(Vec<Commit>, usize), Failure> {
        let (range, most) = match base {
            Some(base) => (format!("{base}..{}", self.head), COMMITS_MAX),
            None => (self.head.clone(), COMMITS_AT_FIRST),
        };
        let most = format!("--max-count={most}");
        let format = "--format=%H%x1f%s%x1f%b%x1f%an%x1e";
        let log = self.run(&["log", "--no-color", &most, format, &range])?.unwrap_or_default();
        let count = self.run(&["rev-list", "--count", &range])?.map(|count| text(&count));
        let commits = commits_of(&String::from_utf8_lossy(&log));
        let all = count.and_then(|count| count.parse().ok()).unwrap_or(commits.len());
        Ok((commits, all))
    }

    /// Whether a rebase is in progress; its commits are not new work.
    pub(super) fn is_rebasing(&self) -> Result<bool, Failure> {
        for name in ["rebase-merge", "rebase-apply"] {
            let path =
                self.run(&["rev-parse", "--git-path", name])?.map(|path| self.directory.join(text(path)));
            if path.is_some_and(|path| path.exists()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The branch that is checked out.
    pub(super) fn branch(&self) -> Result<Option<String>, Failure> {
        Ok(self.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?.map(|name| text(&name)))
    }

    /// The files that differ between two commits and exist in the later one, and their total number.
    /// Without `base`, compares with the parent of the oldest listed commit.
    pub(super) fn changed(&self, base: &str) -> Result<(Vec<ChangedFile>, usize), Failure> {
        let filter = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--name-only",
            "-z",
            "--diff-filter=d",
            "--no-renames",
            base,
            &self.head,
        ];
        let names = self.run(&filter)?.unwrap_or_default();
        let mut paths: Vec<String> =
            names.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(text).collect();
        let all = paths.len();
        paths.truncate(FILES_MAX);
        let mut args = vec!["ls-tree", "-r", "-l", "-z", "--full-tree", &self.head, "--"];
        args.extend(paths.iter().map(String::as_str));
        let listing = if paths.is_empty() { Vec::new() } else { self.run(&args)?.unwrap_or_default() };
        let mut files = Vec::new();
        for entry in listing.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            let Some((head, path)) = entry.split_once('\t') else { continue };
            // Mode, type, object, size; a submodule has no size.
            let parts: Vec<&str> = head.split_ascii_whitespace().collect();
            let [_, "blob", object, size] = parts[..] else { continue };
            let Ok(size_bytes) = size.parse() else { continue };
            files.push((path.to_owned(), object.to_owned(), size_bytes));
        }
        Ok((self.hashed(files)?, all))
    }

    fn hashed(&self, files: Vec<(String, String, u64)>) -> Result<Vec<ChangedFile>, Failure> {
        let mut changed = Vec::with_capacity(files.len());
        for (path, object, size_bytes) in files {
            let content = match size_bytes {
                ..=HASHED_BYTES_MAX => self.run(&["cat-file", "blob", &object])?,
                _ => None,
            };
            let hash = content.map(|content| format!("sha256:{}", hex::encode(digest(&content))));
            changed.push(ChangedFile { path, size_bytes, hash });
        }
        Ok(changed)
    }

    /// The parent of a commit, or the empty tree.
    pub(super) fn parent_of(&self, commit: &str) -> Result<String, Failure> {
        let parent = self.run(&["rev-parse", "--verify", "--quiet", &format!("{commit}^")])?;
        match parent {
            Some(parent) => Ok(text(&parent)),
            None => {
                let empty = self.run_with(&["hash-object", "-t", "tree", "--stdin"], Some(Vec::new()))?;
                Ok(text(empty.unwrap_or_default()))
            }
        }
    }
}

/// The path of `git`, from the absolute directories of `PATH`: a program in a repository is never run.
fn program(path: Option<OsString>) -> Option<PathBuf> {
    let path = path?;
    let directories = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join("git")).find(|program| program.is_file())
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).trim_end_matches(['\n', '\r']).to_owned()
}

/// Parses commits between record and unit separators, which no message contains.
fn commits_of(log: &str) -> Vec<Commit> {
    let commit = |record: &str| {
        let mut parts = record.trim_start_matches('\n').split('\x1f');
        let mut next = || Some(parts.next()?.trim().to_owned());
        Some(Commit { id: next()?, subject: next()?, body: next()?, author: next()? })
    };
    log.split('\x1e').filter_map(commit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_with_bodies_of_several_lines() {
        let log = "a1\x1fOne\x1fbody\n\nDecision: x\n\x1fAnn\x1e\nb2\x1fTwo\x1f\x1fBob\x1e\n";
        let commits = commits_of(log);
        assert_eq!(commits.len(), 2);
        assert_eq!((commits[0].body.as_str(), commits[1].id.as_str()), ("body\n\nDecision: x", "b2"));
        assert_eq!(commits_of(""), []);
    }
}
