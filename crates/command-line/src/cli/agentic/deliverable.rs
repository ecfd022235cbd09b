//! Files as deliverables: their portable paths, types, hashes and sizes.
//! Must not know: packages.

use std::{
    io::Read,
    path::{Component, Path, PathBuf},
};

use bytes::Bytes;
use plenary_client::context::{BlobId, Deliverable};

use crate::cli::failure::Failure;

/// Largest file that is read, in bytes.
const BYTES_MAX: u64 = 256 << 20;

/// A deliverable, and its content if it is a local file.
pub(super) struct DeliverableFile {
    /// The package's entry for it.
    pub(super) entry: Deliverable,
    pub(super) content: Option<Bytes>,
}

/// Reads a deliverable: a URL unchanged, a file with its hash and size.
pub(super) fn read(directory: &Path, root: &Path, name: &str) -> Result<DeliverableFile, Failure> {
    if name.contains("://") {
        let path = name.split(['?', '#']).next().unwrap_or_default();
        let entry = Deliverable { path: name.to_owned(), kind: kind(path), ..Deliverable::default() };
        return Ok(DeliverableFile { entry, content: None });
    }
    let file = directory.join(name);
    let failed = |why: &str| {
        Failure::local_with(
            format!("the deliverable {name} cannot be read: {why}"),
            "name an existing file, or a URL",
        )
    };
    let opened = std::fs::File::open(&file).map_err(|error| failed(&error.to_string()))?;
    let metadata = opened.metadata().map_err(|error| failed(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(failed("it is not a file"));
    }
    let mut content = Vec::new();
    opened.take(BYTES_MAX + 1).read_to_end(&mut content).map_err(|error| failed(&error.to_string()))?;
    if content.len() as u64 > BYTES_MAX {
        return Err(failed("it is larger than 256 MiB; upload it elsewhere and name its URL"));
    }
    let content = Bytes::from(content);
    let entry = Deliverable {
        path: display_path(&file, root, name),
        kind: kind(name),
        hash: Some(format!("sha256:{}", BlobId::of(&content))),
        size_bytes: Some(content.len() as u64),
    };
    Ok(DeliverableFile { entry, content: Some(content) })
}

/// The path relative to the project's root if the file is below it, otherwise the name as given.
fn display_path(file: &Path, root: &Path, name: &str) -> String {
    let clean = plain(file);
    let below = clean.strip_prefix(plain(root)).ok().map(|path| path.to_string_lossy().into_owned());
    below.unwrap_or_else(|| name.to_owned())
}

/// The path without `.` and `..`, resolved by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// The type, from the extension, as in the protocol's examples; `file` without an extension.
pub(super) fn kind(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.is_empty() => {
            match &*extension.to_lowercase() {
                "markdown" => "md".into(),
                "jpeg" => "jpg".into(),
                "htm" => "html".into(),
                "yml" => "yaml".into(),
                other => other.into(),
            }
        }
        _ => "file".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_33_ap_34_a_file_has_its_type_hash_and_size_and_a_path_from_the_root() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("docs/deep");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(root.path().join("docs/A.MD"), "abc").unwrap();
        let DeliverableFile { entry, content } = read(&inner, root.path(), "./../A.MD").unwrap();
        assert_eq!(
            (entry.path.as_str(), entry.kind.as_str(), entry.size_bytes),
            ("docs/A.MD", "md", Some(3))
        );
        let hash = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((entry.hash.as_deref(), content.unwrap().as_ref()), (Some(hash), &b"abc"[..]));
        let url = read(root.path(), root.path(), "https://h/a.tar.gz?x=1.y").unwrap();
        assert_eq!((url.entry.kind.as_str(), url.entry.hash), ("gz", None));
        assert_eq!([kind("Makefile"), kind(".env"), kind("a.yml")], ["file", "file", "yaml"]);
        assert!(
            read(root.path(), root.path(), "docs").is_err()
                && read(root.path(), root.path(), "absent").is_err()
        );
    }
}
