//! The directories whose settings apply in a directory: itself and its parents, and for a Git worktree the same place
//! in the main tree.
//! Must not know: the settings.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The nearest Git directory at or above this one, and its place in the main tree if it is a worktree.
struct Tree {
    root: PathBuf,
    main: Option<PathBuf>,
}

/// Every directory whose settings apply in this one, nearest first.
pub(crate) fn directories(directory: &Path) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = directory.ancestors().map(Path::to_owned).collect();
    if let Some(Tree { root, main: Some(main) }) = tree(directory)
        && let Ok(below) = directory.strip_prefix(&root)
    {
        // Joining an empty path would add a slash at the end.
        let same = if below.as_os_str().is_empty() { main } else { main.join(below) };
        let known: Vec<PathBuf> = same.ancestors().map(Path::to_owned).collect();
        directories.extend(known);
    }
    directories
}

/// The main tree, if the directory is in a worktree of it.
pub(crate) fn main_tree(directory: &Path) -> Option<PathBuf> {
    tree(directory)?.main
}

/// The directory for all of a work tree: its root, or that of the main tree; without Git, the directory itself.
pub(crate) fn project(directory: &Path) -> PathBuf {
    match tree(directory) {
        Some(Tree { root, main }) => main.unwrap_or(root),
        None => directory.to_owned(),
    }
}

/// The root of the work tree that contains a directory, and the directory in which Git stores what all work trees share.
pub(crate) fn work_tree(directory: &Path) -> Option<(PathBuf, PathBuf)> {
    let Tree { root, .. } = tree(directory)?;
    let link = root.join(".git");
    let git = if link.is_dir() { link } else { shared_by_worktree(&link).or_else(|| of_submodule(&root))? };
    Some((root, git))
}

/// Every work tree for which Git stores something in such a directory.
pub(crate) fn work_trees(git: &Path) -> Vec<PathBuf> {
    let main = if git.ends_with(".git") { git.parent().map(Path::to_owned) } else { configured_tree(git) };
    let linked = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    let linked = linked.filter_map(|entry| Some(tree_named_in(&entry.path())?.parent()?.to_owned()));
    main.into_iter().chain(linked).collect()
}

fn tree(directory: &Path) -> Option<Tree> {
    let root = directory.ancestors().find(|above| is_repository(&above.join(".git")))?;
    Some(Tree { root: root.to_owned(), main: main_of(root) })
}

/// Whether it is a directory of Git, or the file of a worktree. An empty directory is neither: sandboxes of coding agents leave
/// one in `/tmp`.
fn is_repository(git: &Path) -> bool {
    git.is_file() || fs::read_dir(git).is_ok_and(|mut entries| entries.next().is_some())
}

/// The main tree of a worktree. A file in the directory only points to it: the main tree must name this worktree too.
fn main_of(root: &Path) -> Option<PathBuf> {
    let common = shared_by_worktree(&root.join(".git"))?;
    common.ends_with(".git").then(|| common.parent().map(Path::to_owned))?
}

/// The directory that a worktree shares with its main tree, or with a repository without one; it must name this worktree too.
fn shared_by_worktree(link: &Path) -> Option<PathBuf> {
    let own = led_to(link)?;
    let (worktrees, common) = (own.parent()?, own.parent()?.parent()?);
    let names_it = tree_named_in(&own)?.canonicalize().ok()? == link.canonicalize().ok()?;
    (names_it && worktrees.ends_with("worktrees")).then(|| common.to_owned())
}

/// The directory of Git of a submodule; it must name this work tree too.
fn of_submodule(root: &Path) -> Option<PathBuf> {
    let own = led_to(&root.join(".git"))?;
    let names_it = configured_tree(&own)?.canonicalize().ok()? == root.canonicalize().ok()?;
    names_it.then_some(own)
}

/// Where the file `.git` of a work tree leads.
fn led_to(link: &Path) -> Option<PathBuf> {
    let text = super::trusted::read(link).ok()??;
    link.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

/// The file `.git` of the work tree that a worktree's own directory names.
fn tree_named_in(own: &Path) -> Option<PathBuf> {
    let text = super::trusted::read(&own.join("gitdir")).ok()??;
    Some(own.join(text.trim()))
}

/// The work tree in the configuration of a directory of Git: `core.worktree`.
fn configured_tree(git: &Path) -> Option<PathBuf> {
    let text = super::trusted::read(&git.join("config")).ok()??;
    let value = |line: &str| {
        let value = line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('=')?.trim();
        Some(git.join(value.trim_matches('"')))
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_has_the_settings_of_the_main_tree_that_names_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (main, side) = (root.join("main"), root.join("side"));
        let own = main.join(".git/worktrees/side");
        for directory in [&own, &side.join("src")] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(side.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(main_tree(&side), None, "nothing names it");
        fs::write(own.join("gitdir"), format!("{}\n", side.join(".git").display())).unwrap();
        assert_eq!(main_tree(&side.join("src")), Some(main.clone()));
        assert_eq!((project(&side.join("src")), project(&main.join("x"))), (main.clone(), main.clone()));
        let found = directories(&side.join("src"));
        assert_eq!(found[..2], [side.join("src"), side.clone()]);
        assert!(found.contains(&main.join("src")) && found.contains(&main));
        fs::write(own.join("gitdir"), format!("{}\n", main.join(".git").display())).unwrap();
        assert_eq!(main_tree(&side), None, "it names another");
        assert_eq!(project(&root), root, "without Git");
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(work_tree(&root), None, "an empty directory");
    }

    #[test]
    fn a_submodule_and_a_worktree_of_a_bare_repository_share_what_names_them() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (sub, own) = (root.join("main/libs/sub"), root.join("main/.git/modules/sub"));
        let (bare, side) = (root.join("bare"), root.join("side"));
        for directory in [&sub.join("src"), &own, &bare.join("worktrees/side"), &side] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(sub.join(".git"), "gitdir: ../../.git/modules/sub\n").unwrap();
        assert_eq!(work_tree(&sub), None, "nothing names it");
        fs::write(own.join("config"), "[core]\n\tbare = false\n\tworktree = ../../../libs/sub\n").unwrap();
        assert_eq!(work_tree(&sub.join("src")), Some((sub.clone(), own.clone())));
        assert_eq!((main_tree(&sub), project(&sub)), (None, sub.clone()));
        let trees: Vec<_> = work_trees(&own).iter().filter_map(|tree| tree.canonicalize().ok()).collect();
        assert_eq!(trees, [sub]);
        fs::write(side.join(".git"), format!("gitdir: {}/worktrees/side\n", bare.display())).unwrap();
        assert_eq!(work_tree(&side), None, "nothing names it");
        fs::write(bare.join("worktrees/side/gitdir"), side.join(".git").display().to_string()).unwrap();
        assert_eq!(work_tree(&side), Some((side.clone(), bare.clone())));
        assert_eq!((main_tree(&side), work_trees(&bare)), (None, vec![side]));
    }
}
