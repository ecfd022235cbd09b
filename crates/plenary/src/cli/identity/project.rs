//! `.plenary.toml`: the agent and the project of a directory and all below it, found upward as `.git` is.
//! Must not know: tokens or servers; a file that comes with foreign code must not be able to name them.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::cli::failure::Failure;

/// The file's name.
pub(crate) const FILE: &str = ".plenary.toml";

/// What a directory settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Who speaks there.
    Agent,
    /// Which project of the Agentic Protocol it belongs to.
    Project,
}

impl Setting {
    const fn key(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Project => "project",
        }
    }
}

/// What the nearest file at or above a directory that settles this says, and which file it is.
pub(crate) fn find(directory: &Path, setting: Setting) -> Result<Option<(String, PathBuf)>, Failure> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(unusable(&path, &error.to_string())),
        };
        let table: toml::Table = toml::from_str(&text).map_err(|error| unusable(&path, error.message()))?;
        match table.get(setting.key()) {
            Some(toml::Value::String(text)) => return Ok(Some((text.clone(), path))),
            Some(_) => return Err(unusable(&path, &format!("`{}` is no text", setting.key()))),
            None if [Setting::Agent, Setting::Project].iter().any(|s| table.contains_key(s.key())) => {}
            None => return Err(unusable(&path, "it names neither an agent nor a project")),
        }
    }
    Ok(None)
}

/// What is said of a file that cannot be used.
pub(super) fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be used: {why}", path.display()),
        "write it anew with `plenary use @owner.name` and `plenary context init PROJECT`, or say it with `--as \
         @owner.name` and `--project PROJECT`",
    )
}

/// Settles something for this directory; whatever else the file holds stays.
pub(crate) fn write(directory: &Path, setting: Setting, value: &str) -> Result<PathBuf, Failure> {
    let path = directory.join(FILE);
    let failed = |why: String| Failure::local(format!("{} cannot be written: {why}", path.display()));
    let mut table: toml::Table = match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|e| failed(format!("what it holds is not TOML ({})", e.message())))?,
        Err(error) if error.kind() == ErrorKind::NotFound => toml::Table::new(),
        Err(error) => return Err(failed(error.to_string())),
    };
    table.insert(setting.key().into(), value.into());
    let text = toml::to_string(&table).map_err(|e| failed(e.to_string()))?;
    std::fs::write(&path, text).map_err(|e| failed(e.to_string()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_and_the_rest_of_the_file_stays() {
        let root = crate::cli::Scratch::new("project");
        std::fs::write(root.join(FILE), "colour = \"blue\"\nagent = \"@old.one\"\n").unwrap();
        let path = write(&root, Setting::Agent, "@nick.assistant").unwrap();
        assert_eq!(find(&root, Setting::Agent).unwrap(), Some(("@nick.assistant".into(), path.clone())));
        assert!(std::fs::read_to_string(path).unwrap().contains("colour = \"blue\""));
    }

    #[test]
    fn each_setting_is_found_in_the_nearest_file_that_has_it() {
        let root = crate::cli::Scratch::new("project-nearest");
        let inner = root.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let outer = write(&root, Setting::Agent, "@nick.assistant").unwrap();
        let nearer = write(&inner, Setting::Project, "parser").unwrap();
        assert_eq!(find(&inner, Setting::Agent).unwrap(), Some(("@nick.assistant".into(), outer)));
        assert_eq!(find(&inner, Setting::Project).unwrap(), Some(("parser".into(), nearer)));
        assert_eq!(find(&root, Setting::Project).unwrap(), None);
    }

    #[test]
    fn a_broken_file_is_named_and_not_passed_over() {
        let root = crate::cli::Scratch::new("broken");
        for text in ["agent", "", "agent = 7"] {
            std::fs::write(root.join(FILE), text).unwrap();
            let Err(Failure::Usage { what, .. }) = find(&root, Setting::Agent) else { panic!("{text}") };
            assert!(what.contains(FILE), "{what}");
        }
    }
}
