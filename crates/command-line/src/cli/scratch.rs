//! A temporary directory of a test, removed with it.
//! Must not know: its content.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

/// The directory.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates it, empty, under a name that no other test of this process uses.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("plenary-test-{}-{name}", std::process::id()));
        let _absent = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Deref for Scratch {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}
