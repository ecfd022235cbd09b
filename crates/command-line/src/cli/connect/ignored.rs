//! Excludes the files that `connect` creates in a Git work tree from `git add`, by `.git/info/exclude`: they contain an
//! agent's name and paths of this machine.
//! Must not know: the content of the files.

use std::path::{Path, PathBuf};

use crate::cli::{
    environment::Environment,
    failure::Failure,
    identity::{ClientEntry, Clients, OWN_DIRECTORY, work_tree, work_trees},
    settings::File,
};

/// Excludes the created files of a directory; returns this program's lines in the file: earlier ones included, and those that it
/// wrote for the same place in another work tree.
pub(super) fn exclude(
    environment: &Environment,
    directory: &Path,
    created: &[String],
    old: &[String],
) -> Result<Vec<String>, Failure> {
    let Some(Excluding { root, git, file }) = excluding(directory) else { return Ok(Vec::new()) };
    let others = in_other_trees(environment, directory, &root, &git);
    let of_other = |line: &String| others.iter().any(|entry| entry.excluded.contains(line));
    let text = file.read()?.unwrap_or_default();
    let mut ours = Vec::new();
    let mut added = String::new();
    for name in created.iter().filter(|created| is_file(created)) {
        let Some(line) = line(&root, &directory.join(name)) else { continue };
        let is_there = text.lines().any(|known| known == line);
        if !is_there {
            added.push_str(&format!("{line}\n"));
        }
        if !is_there || old.contains(&line) || of_other(&line) {
            ours.push(line);
        }
    }
    if !added.is_empty() {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        file.replace(&format!("{text}{gap}{added}"))?;
    }
    Ok(ours)
}

/// Removes this program's lines, except those that another work tree still needs: all trees share one file.
pub(super) fn include(environment: &Environment, directory: &Path, ours: &[String]) -> Result<(), Failure> {
    let Some(Excluding { root, git, file }) = excluding(directory).filter(|_| !ours.is_empty()) else {
        return Ok(());
    };
    let others = in_other_trees(environment, directory, &root, &git);
    let files = others.iter().flat_map(|entry| &entry.created).filter(|created| is_file(created));
    let needed: Vec<String> = files.filter_map(|name| line(&root, &directory.join(name))).collect();
    let text = file.read()?.unwrap_or_default();
    let is_ours = |line: &str| {
        let line = line.trim_end_matches(['\n', '\r']);
        ours.iter().any(|ours| ours == line) && !needed.iter().any(|needed| needed == line)
    };
    let rest: String = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    if rest == text { Ok(()) } else { file.replace(&rest) }
}

/// Whether a created member is a file, outside the directory that excludes itself.
fn is_file(created: &str) -> bool {
    !created.contains('#') && !created.ends_with('/') && !Path::new(created).starts_with(OWN_DIRECTORY)
}

/// What is connected at the same place in the other work trees.
fn in_other_trees(environment: &Environment, directory: &Path, root: &Path, git: &Path) -> Vec<ClientEntry> {
    let Ok(below) = directory.strip_prefix(root) else { return Vec::new() };
    let real = |path: &Path| path.canonicalize().ok();
    let others = work_trees(git).into_iter().filter(|tree| real(tree) != real(root));
    let connected = others.filter_map(|tree| Clients::load(environment, &tree.join(below)).ok());
    connected.flat_map(|clients| clients.0.into_values()).collect()
}

/// The exclude file of a work tree.
struct Excluding {
    root: PathBuf,
    git: PathBuf,
    file: File,
}

/// The exclude file of a directory's work tree. A link that came with the directory is not followed.
fn excluding(directory: &Path) -> Option<Excluding> {
    let (root, git) = work_tree(directory)?;
    let info = git.join("info");
    let path = info.join("exclude");
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let leads_elsewhere = [git.as_path(), &info, &path].into_iter().any(is_link);
    (!leads_elsewhere).then(|| Excluding { root, git, file: File::at(path) })
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

    fn environment(root: &Path) -> Environment {
        Environment::of_test(root, &[("HOME", &root.join("home").display().to_string())])
    }

    #[test]
    fn lines_of_this_program_are_added_and_removed_and_other_lines_stay() {
        let root = tempfile::tempdir().unwrap();
        let environment = environment(root.path());
        let below = root.path().join("a[1]");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.path().join(".git/info")).unwrap();
        let path = root.path().join(".git/info/exclude");
        fs::write(&path, "*.o\n/a\\[1]/mine.json").unwrap();
        let created =
            ["mine.json", "x/", "x/y.json", ".mcp.json#", ".mcp.json#/a", ".plenary/z.js"].map(str::to_owned);
        let ours = exclude(&environment, &below, &created, &[]).unwrap();
        assert_eq!(ours, ["/a\\[1]/x/y.json"], "a line that was there is not ours");
        let text = || fs::read_to_string(&path).unwrap();
        assert_eq!(text(), "*.o\n/a\\[1]/mine.json\n/a\\[1]/x/y.json\n");
        assert_eq!(exclude(&environment, &below, &created, &ours).unwrap(), ours, "once is enough");
        include(&environment, &below, &ours).unwrap();
        assert_eq!(text(), "*.o\n/a\\[1]/mine.json\n");
        let elsewhere = root.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(exclude(&environment, &below, &created, &[]).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "");
    }

    #[test]
    fn a_line_stays_while_another_work_tree_needs_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let environment = environment(&root);
        let (main, side) = (root.join("main"), root.join("side"));
        let own = main.join(".git/worktrees/side");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&side).unwrap();
        fs::write(side.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("gitdir"), side.join(".git").display().to_string()).unwrap();
        let text = || fs::read_to_string(main.join(".git/info/exclude")).unwrap();
        let created = vec![".mcp.json".to_owned()];
        let connect = |tree: &Path| {
            let excluded = exclude(&environment, tree, &created, &[]).unwrap();
            assert_eq!(excluded, ["/.mcp.json"]);
            let entry = ClientEntry::of("@nick.a".parse().unwrap(), None);
            let entry = ClientEntry { created: created.clone(), excluded, ..entry };
            Clients([("claude".to_owned(), entry)].into()).save(&environment, tree).unwrap();
        };
        let disconnect = |tree: &Path| {
            Clients::default().save(&environment, tree).unwrap();
            include(&environment, tree, &["/.mcp.json".to_owned()]).unwrap();
        };
        for (first, second) in [(&main, &side), (&side, &main)] {
            connect(&side);
            connect(&main);
            disconnect(first);
            assert_eq!(text(), "/.mcp.json\n");
            disconnect(second);
            assert_eq!(text(), "");
        }
    }
}
