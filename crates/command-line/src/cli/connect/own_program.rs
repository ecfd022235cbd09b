//! The paths of this program in settings: first one that stays when a package manager replaces the program by a new version.
//! Must not know: the settings.

use std::path::{Path, PathBuf};

use super::SERVER;
use crate::cli::{context::Context, failure::Failure, identity::work_tree};

/// Every known path that leads to this program: the command on `PATH`, the one that was started, and the file itself. A link in
/// the work tree does not count: whoever changes the tree could change what it leads to.
pub(super) fn own_paths(context: &Context) -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::local(format!("the path of this program cannot be determined: {error}")))?;
    let started = std::env::args_os().next().map(PathBuf::from);
    let path = context.environment.var("PATH").unwrap_or_default();
    let directory = context.environment.directory();
    let tree = directory.map(|directory| work_tree(directory).map_or(directory.clone(), |(root, _)| root));
    let paths = leading_to(&program, started.as_deref(), (&path, tree.as_deref()));
    Ok(paths.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Whether a path in settings leads to this program.
pub(super) fn is_this(path: &Path) -> bool {
    let real = std::env::current_exe().and_then(|program| program.canonicalize());
    real.is_ok_and(|real| leads_to(path, &real))
}

fn leads_to(path: &Path, real: &Path) -> bool {
    path.is_absolute() && path.ends_with(SERVER) && path.canonicalize().is_ok_and(|target| target == real)
}

fn leading_to(program: &Path, started: Option<&Path>, (path, tree): (&str, Option<&Path>)) -> Vec<PathBuf> {
    let on_path = std::env::split_paths(path).map(|directory| directory.join(SERVER));
    // A bare name was found on `PATH`.
    let started = started.filter(|started| started.components().nth(1).is_some());
    let started = started.and_then(|started| std::path::absolute(started).ok());
    let Ok(real) = program.canonicalize() else { return vec![program.to_owned()] };
    let is_in_tree = |path: &Path| tree.is_some_and(|tree| path.starts_with(tree));
    let links = on_path.chain(started).filter(|path| leads_to(path, &real) && !is_in_tree(path));
    links.chain([program.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_link_to_this_program_comes_before_the_file_of_one_version() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (version, other) = (root.join("cellar/0.1.0"), root.join("other"));
        let bin = root.join("bin");
        for directory in [&version, &other, &bin] {
            fs::create_dir_all(directory).unwrap();
        }
        let (program, link) = (version.join("plenary"), bin.join("plenary"));
        fs::write(&program, "").unwrap();
        fs::write(other.join("plenary"), "").unwrap();
        symlink(&program, &link).unwrap();
        let path = format!("relative:{}:{}", other.display(), bin.display());
        let file = vec![program.clone()];
        let both = vec![link.clone(), program.clone()];
        assert_eq!(leading_to(&program, Some(Path::new("plenary")), (&path, None)), both, "on PATH");
        assert_eq!(leading_to(&program, Some(&link), ("/usr/bin", None)), both, "started by a link");
        assert_eq!(leading_to(&program, Some(Path::new("plenary")), ("/usr/bin", None)), file);
        assert_eq!(leading_to(&program, Some(&other.join("plenary")), ("", None)), file, "another program");
        assert_eq!(leading_to(&program, Some(&link), (&path, Some(&bin))), file, "a link in the work tree");
        let named = root.join("bin/pl");
        symlink(&program, &named).unwrap();
        assert_eq!(leading_to(&program, Some(&named), ("", None)), file, "a link with another name");
        assert_eq!(leading_to(&root.join("gone"), Some(&link), (&path, None)), [root.join("gone")]);
    }
}
