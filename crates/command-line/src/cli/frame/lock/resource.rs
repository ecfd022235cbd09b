//! The name of a resource: sessions in different directories use the same name for the same file.
//! Must not know: claims.

use std::path::Path;

use crate::cli::context::Context;

/// The name of a resource. A path is made absolute, with links resolved, if it or its directory exists on this machine;
/// any other name stays unchanged.
pub(super) fn named(context: &Context, text: &str) -> String {
    context.environment.directory().map_or_else(|| text.to_owned(), |directory| within(directory, text))
}

fn within(directory: &Path, text: &str) -> String {
    if text.is_empty() {
        // The server reports the error.
        return String::new();
    }
    let path = directory.join(text);
    let absolute = path.canonicalize().or_else(|absent| match (path.parent(), path.file_name()) {
        // A bare name may be anything; with an existing directory before it, it is a new file there.
        (Some(parent), Some(name)) if text.contains('/') => Ok(parent.canonicalize()?.join(name)),
        _ => Err(absent),
    });
    absolute.map_or_else(|_| text.to_owned(), |path| path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_same_from_everywhere_and_a_name_stays_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
        let file = root.join("a/file").to_string_lossy().into_owned();
        for (from, text) in [("a", "file"), ("a/b", "../file"), ("", "link/file"), ("", file.as_str())] {
            assert_eq!(within(&root.join(from), text), file, "{from} {text}");
        }
        assert_eq!(within(&root, "link/new"), root.join("a/new").to_string_lossy());
        for name in ["deploy", "branch:main", "no/such/place", ""] {
            assert_eq!(within(&root, name), name);
        }
    }
}
