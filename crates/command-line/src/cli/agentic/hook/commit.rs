//! The hook after a commit: a marked block in `post-commit`, beside its other content.
//! Must not know: the command of the block.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::report;
use crate::cli::{agentic::git::Repository, atomic, context::Context, failure::Failure};

const BEGIN: &str = "# >>> plenary context >>>";
const END: &str = "# <<< plenary context <<<";

pub(super) fn install(context: &Context, directory: &Path, command: &str) -> Result<(), Failure> {
    let path = file(directory)?;
    let before = read(&path)?;
    if let Some(shebang) = before.lines().next().filter(|line| line.starts_with("#!") && !is_shell(line)) {
        return Err(Failure::local_with(
            format!(
                "{} is not a shell script (`{shebang}`), so the hook cannot be added to it",
                path.display()
            ),
            format!("add this command at its end yourself: {command}"),
        ));
    }
    let after = with_block(&before, command);
    if after == before {
        return report(context, "git", &path, "already has the hook");
    }
    write(&path, &after)?;
    report(context, "git", &path, "now deposits each commit")
}

pub(super) fn remove(context: &Context, directory: &Path) -> Result<(), Failure> {
    let path = file(directory)?;
    let before = read(&path)?;
    let after = without_block(&before);
    if after == before {
        return report(context, "git", &path, "has no Plenary hook");
    }
    if after.lines().all(|line| line.trim().is_empty() || line.starts_with("#!")) {
        fs::remove_file(&path).map_err(|error| unusable(&path, &error.to_string()))?;
    } else {
        write(&path, &after)?;
    }
    report(context, "git", &path, "no longer deposits")
}

fn file(directory: &Path) -> Result<PathBuf, Failure> {
    Ok(Repository::hooks_dir(directory)?.join("post-commit"))
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::local(format!("the hook {} cannot be changed: {why}", path.display()))
}

fn read(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unusable(path, &error.to_string())),
    }
}

/// Replaces the file atomically and makes it executable; an existing file keeps its other permission bits.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| unusable(path, &error.to_string());
    // If the hook is a link, the target is changed.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    if let Ok(metadata) = fs::metadata(&path) {
        let mode = metadata.permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o100)).map_err(failed)?;
    }
    atomic::replace(&path, text.as_bytes(), 0o777).map_err(failed)
}

fn is_shell(shebang: &str) -> bool {
    let segments = shebang.trim_start_matches("#!").split([' ', '/']);
    segments.into_iter().any(|segment| matches!(segment, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash"))
}

/// The hook with our block: at its old position, else at the end, but before a last line that would prevent it from running.
fn with_block(before: &str, command: &str) -> String {
    let block = format!("{BEGIN}\n{command} </dev/null || :\n{END}\n");
    if let Some((head, tail)) = around(before) {
        return format!("{head}{block}{tail}");
    }
    if before.trim().is_empty() {
        return format!("#!/bin/sh\n{block}");
    }
    let text = if before.ends_with('\n') { before.to_owned() } else { format!("{before}\n") };
    let last = text.trim_end().rfind('\n').map_or(0, |line_end| line_end + 1);
    if text[last..].starts_with("exit") || text[last..].starts_with("exec ") {
        return format!("{}{block}{}", &text[..last], &text[last..]);
    }
    format!("{text}{block}")
}

fn without_block(before: &str) -> String {
    around(before).map_or(before.to_owned(), |(head, tail)| format!("{head}{tail}"))
}

/// The text before and after our block.
fn around(text: &str) -> Option<(&str, &str)> {
    let from = text.find(BEGIN)?;
    let to = from + text[from..].find(END)? + END.len();
    Some((&text[..from], text[to..].strip_prefix('\n').unwrap_or(&text[to..])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_is_added_once_and_leaves_the_rest() {
        let fresh = with_block("", "run it");
        assert_eq!(fresh, format!("#!/bin/sh\n{BEGIN}\nrun it </dev/null || :\n{END}\n"));
        assert_eq!(with_block(&fresh, "run it"), fresh);
        let other = with_block(&with_block("#!/bin/bash\necho hi", "run it"), "run that");
        assert!(
            other.starts_with("#!/bin/bash\necho hi\n# >>>")
                && other.contains("run that")
                && !other.contains("run it")
        );
        assert_eq!(without_block(&other), "#!/bin/bash\necho hi\n");
        let ending = with_block("#!/bin/sh\necho hi\nexit 0\n", "run it");
        assert!(ending.ends_with(&format!("{END}\nexit 0\n")), "{ending}");
        assert!(
            is_shell("#!/usr/bin/env bash")
                && is_shell("#!/bin/sh -e")
                && !is_shell("#!/usr/bin/env python3")
        );
    }

    proptest! {
        #[test]
        fn other_lines_stay(before in "(#!/bin/sh\n)?[a-z \n]{0,40}(exit 0\n)?") {
            let with = with_block(&before, "run it");
            prop_assert_eq!(&with_block(&with, "run it"), &with);
            let rest = without_block(&with);
            let bare = |text: &str| text.replace("#!/bin/sh\n", "").trim().to_owned();
            prop_assert_eq!(bare(&rest), bare(&before));
        }
    }
}
