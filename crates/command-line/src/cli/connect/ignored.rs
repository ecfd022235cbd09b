//! Excludes the files that `connect` creates in a Git work tree from `git add`, by `.git/info/exclude`: they contain an
//! agent's name and paths of this machine.
//! Must not know: the content of the files.

use std::path::{Path, PathBuf};

use crate::cli::{
    failure::Failure,
    identity::{OWN_DIRECTORY, work_tree},
    settings::File,
};

/// Excludes the created files of a directory; returns this program's lines in the file, earlier ones included.
pub(super) fn exclude(directory: &Path, created: &[String], old: &[String]) -> Result<Vec<String>, Failure> {
    let Some((root, file)) = exclude_file(directory) else { return Ok(Vec::new()) };
    let text = file.read()?.unwrap_or_default();
    let mut ours = Vec::new();
    let mut added = String::new();
    for name in created.iter().filter(|created| is_file(created)) {
        let Some(line) = line(&root, &directory.join(name)) else { continue };
        let is_there = text.lines().any(|known| known == line);
        if !is_there {
            added.push_str(&format!("{line}\n"));
        }
        if !is_there || old.contains(&line) {
            ours.push(line);
        }
    }
    if !added.is_empty() {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        file.replace(&format!("{text}{gap}{added}"))?;
    }
    Ok(ours)
}

/// Removes this program's lines.
pub(super) fn include(directory: &Path, ours: &[String]) -> Result<(), Failure> {
    let Some((_, file)) = exclude_file(directory).filter(|_| !ours.is_empty()) else { return Ok(()) };
    let text = file.read()?.unwrap_or_default();
    let is_ours = |line: &str| ours.iter().any(|ours| ours == line.trim_end_matches(['\n', '\r']));
    let rest: String = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    if rest == text { Ok(()) } else { file.replace(&rest) }
}

/// Whether a created member is a file, outside the directory that excludes itself.
fn is_file(created: &str) -> bool {
    !created.contains('#') && !created.ends_with('/') && !Path::new(created).starts_with(OWN_DIRECTORY)
}

/// The root of the work tree, and its exclude file. A link that came with the directory is not followed.
fn exclude_file(directory: &Path) -> Option<(PathBuf, File)> {
    let (root, git) = work_tree(directory)?;
    let info = git.join("info");
    let path = info.join("exclude");
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let leads_elsewhere = [git.as_path(), &info, &path].into_iter().any(is_link);
    (!leads_elsewhere).then(|| (root, File::at(path)))
}

/// The pattern of one file.
fn line(root: &Path, path: &Path) -> Option<String> {
    let name = path.strip_prefix(root).ok()?.to_str()?;
    let mut line = "/".to_owned();
    for c in name.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            line.push('\\');
        }
        line.push(c);
    }
    (!line.contains('\n')).then_some(line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_of_this_program_are_added_and_removed_and_other_lines_stay() {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("a[1]");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.path().join(".git/info")).unwrap();
        let path = root.path().join(".git/info/exclude");
        fs::write(&path, "*.o\n/a\\[1]/mine.json").unwrap();
        let created =
            ["mine.json", "x/", "x/y.json", ".mcp.json#", ".mcp.json#/a", ".plenary/z.js"].map(str::to_owned);
        let ours = exclude(&below, &created, &[]).unwrap();
        assert_eq!(ours, ["/a\\[1]/x/y.json"], "a line that was there is not ours");
        let text = || fs::read_to_string(&path).unwrap();
        assert_eq!(text(), "*.o\n/a\\[1]/mine.json\n/a\\[1]/x/y.json\n");
        assert_eq!(exclude(&below, &created, &ours).unwrap(), ours, "once is enough");
        include(&below, &ours).unwrap();
        assert_eq!(text(), "*.o\n/a\\[1]/mine.json\n");
        let elsewhere = root.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(exclude(&below, &created, &[]).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "");
    }
}
