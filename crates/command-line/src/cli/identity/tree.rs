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
    let Tree { root, main } = tree(directory)?;
    let git = main.as_ref().unwrap_or(&root).join(".git");
    git.is_dir().then_some((root, git))
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
    let link = root.join(".git");
    let text = super::trusted::read(&link).ok()??;
    let own = root.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let (worktrees, common) = (own.parent()?, own.parent()?.parent()?);
    let main = common.parent()?;
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    let names_it = Path::new(back.trim()).canonicalize().ok()? == link.canonicalize().ok()?;
    let is_main = worktrees.file_name()? == "worktrees" && common.file_name()? == ".git";
    (names_it && is_main).then(|| main.to_owned())
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
}
