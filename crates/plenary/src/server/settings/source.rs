//! The configuration file: the named one, otherwise the user's own. Never a file that is merely in the working
//! directory: a stranger may have written it, and it names programs to run.
//! Must not know: the content of the file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::paths::{self, Lookup};

/// The file's name.
const FILE: &str = "plenary.toml";

/// A configuration file that was read.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Its text.
    pub(super) text: String,
    /// Its absolute path; `None` if there is no file.
    pub(super) path: Option<PathBuf>,
}

impl Source {
    /// Reads the named file, which must exist, or else the user's own if it exists.
    pub(super) fn read(named: Option<&Path>, var: Lookup<'_>) -> anyhow::Result<Self> {
        let own = || paths::config_dir(var).map(|directory| directory.join(FILE));
        let Some(path) = named.map(Path::to_owned).or_else(own) else { return Ok(Self::default()) };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let path =
                    std::path::absolute(&path).with_context(|| format!("finding {}", path.display()))?;
                Ok(Self { text, path: Some(path) })
            }
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    /// A path of the file, which is relative to the file's directory.
    pub(super) fn resolve(&self, path: PathBuf) -> PathBuf {
        match self.path.as_deref().and_then(Path::parent) {
            Some(directory) => directory.join(path),
            None => path,
        }
    }

    /// A notice that a file in a directory looks like a configuration but is not read.
    pub(super) fn ignored_in(&self, directory: &Path) -> Option<String> {
        let there = directory.join(FILE);
        let real = |path: &Path| path.canonicalize().ok();
        if !there.is_file() || self.path.as_deref().is_some_and(|own| real(own) == real(&there)) {
            return None;
        }
        Some(format!("./{FILE} is not read: only a file named with `--config {FILE}` or PLENARY_CONFIG is"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_file_wins_over_the_users_own_and_what_lies_about_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let (config, here) = (root.path().join("config"), root.path().join("here"));
        std::fs::create_dir_all(config.join("plenary")).unwrap();
        std::fs::create_dir_all(&here).unwrap();
        std::fs::write(here.join(FILE), "here").unwrap();
        let var = |name: &str| (name == "XDG_CONFIG_HOME").then(|| config.display().to_string());
        let none = Source::read(None, &var).unwrap();
        assert_eq!((none.text.as_str(), none.path.as_deref()), ("", None));
        assert!(none.ignored_in(&here).is_some_and(|said| said.contains("--config")));
        assert!(none.ignored_in(root.path()).is_none());

        let own = config.join("plenary").join(FILE);
        std::fs::write(&own, "own").unwrap();
        let read = Source::read(None, &var).unwrap();
        assert_eq!((read.text.as_str(), read.path.as_deref()), ("own", Some(own.as_path())));
        assert!(read.ignored_in(&config.join("plenary")).is_none(), "it is the one that is read");
        assert_eq!(read.resolve("seed.json".into()), config.join("plenary/seed.json"));
        assert_eq!(read.resolve("/seed.json".into()), Path::new("/seed.json"));

        let named = Source::read(Some(&here.join(FILE)), &var).unwrap();
        assert_eq!(named.text, "here");
        assert!(named.ignored_in(&here).is_none());
        assert!(Source::read(Some(&here.join("absent")), &var).is_err());
    }
}
