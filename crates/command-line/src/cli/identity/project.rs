//! `.plenary.toml`: the agent and the project of a directory and all below it, found upward as `.git` is.
//! Must not know: tokens or servers; a file that comes with foreign code must not be able to name them.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::trusted::{self, TrustList};
use crate::cli::{atomic, environment::Environment, failure::Failure};

pub(crate) const FILE: &str = ".plenary.toml";

/// The settings of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Agent,
    /// The project of the Agentic Protocol.
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

/// The setting's value in the nearest file at or above a directory that has it, and the path of that file. A file that the
/// user has neither written nor trusted is rejected with an error that names it.
pub(crate) fn find(
    environment: &Environment,
    directory: &Path,
    setting: Setting,
) -> Result<Option<(String, PathBuf)>, Failure> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(FILE);
        let Some(text) = text(&path)? else { continue };
        TrustList::of(environment)?.check(&path, &text)?;
        let table = parse(&path, &text)?;
        match table.get(setting.key()) {
            Some(toml::Value::String(text)) => return Ok(Some((text.clone(), path))),
            Some(_) => return Err(unusable(&path, &format!("`{}` is not a text", setting.key()))),
            None if [Setting::Agent, Setting::Project].iter().any(|s| table.contains_key(s.key())) => {}
            None => return Err(unusable(&path, "it names neither an agent nor a project")),
        }
    }
    Ok(None)
}

fn text(path: &Path) -> Result<Option<String>, Failure> {
    trusted::read(path).map_err(|error| unusable(path, &error.to_string()))
}

fn parse(path: &Path, text: &str) -> Result<toml::Table, Failure> {
    toml::from_str(text).map_err(|error| unusable(path, error.message()))
}

/// Rejects a file that cannot be read, if there is one.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    text(path)?.map_or(Ok(()), |text| parse(path, &text).map(drop))
}

pub(super) fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be used: {why}", path.display()),
        "write it again with `plenary use @owner.name` and `plenary context init PROJECT`, or use `--as \
         @owner.name` and `--project PROJECT`",
    )
}

/// Writes a setting of this directory; the rest of the file stays.
pub(crate) fn write(
    environment: &Environment,
    directory: &Path,
    setting: Setting,
    value: &str,
) -> Result<PathBuf, Failure> {
    let (trusted, path) = (TrustList::of(environment)?, directory.join(FILE));
    trusted.check_writable(&path)?;
    let failed = |why: String| Failure::local(format!("{} cannot be written: {why}", path.display()));
    let mut table: toml::Table = match std::fs::read_to_string(&path) {
        Ok(text) => {
            toml::from_str(&text).map_err(|e| failed(format!("its content is not TOML ({})", e.message())))?
        }
        Err(error) if error.kind() == ErrorKind::NotFound => toml::Table::new(),
        Err(error) => return Err(failed(error.to_string())),
    };
    table.insert(setting.key().into(), value.into());
    let text = toml::to_string(&table).map_err(|e| failed(e.to_string()))?;
    let replace = || atomic::replace(&path, text.as_bytes(), 0o666).map_err(|e| failed(e.to_string()));
    trusted.write(&path, &text, replace)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(root: &Path) -> Environment {
        Environment::of_test(root, &[("HOME", &root.join("home").display().to_string())])
    }

    /// A file that the user wrote by hand, and trusts.
    fn write_and_trust(root: &Path, text: &str) {
        std::fs::write(root.join(FILE), text).unwrap();
        TrustList::of(&environment(root)).unwrap().record(&[root.join(FILE)]).unwrap();
    }

    #[test]
    fn a_written_setting_is_found_and_the_rest_of_the_file_stays() {
        let root = tempfile::tempdir().unwrap();
        write_and_trust(root.path(), "colour = \"blue\"\nagent = \"@old.one\"\n");
        let path = write(&environment(root.path()), root.path(), Setting::Agent, "@nick.assistant").unwrap();
        let value = find(&environment(root.path()), root.path(), Setting::Agent).unwrap();
        assert_eq!(value, Some(("@nick.assistant".into(), path.clone())));
        assert!(std::fs::read_to_string(path).unwrap().contains("colour = \"blue\""));
    }

    #[test]
    fn each_setting_is_found_in_the_nearest_file_that_has_it() {
        let root = tempfile::tempdir().unwrap();
        let (inner, environment) = (root.path().join("a/b"), environment(root.path()));
        std::fs::create_dir_all(&inner).unwrap();
        let outer = write(&environment, root.path(), Setting::Agent, "@nick.assistant").unwrap();
        let nearer = write(&environment, &inner, Setting::Project, "parser").unwrap();
        let found = |directory: &Path, setting| find(&environment, directory, setting).unwrap();
        assert_eq!(found(&inner, Setting::Agent), Some(("@nick.assistant".into(), outer)));
        assert_eq!(found(&inner, Setting::Project), Some(("parser".into(), nearer)));
        assert_eq!(found(root.path(), Setting::Project), None);
    }

    #[test]
    fn a_file_that_the_user_has_not_trusted_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(FILE), "project = \"theirs\"\n").unwrap();
        for setting in [Setting::Agent, Setting::Project] {
            let Err(Failure::Auth { next, .. }) = find(&environment(root.path()), root.path(), setting)
            else {
                panic!()
            };
            assert!(next.contains("plenary trust"), "{next}");
        }
        // What is written into it would be trusted together with what was there.
        assert!(write(&environment(root.path()), root.path(), Setting::Agent, "@nick.a").is_err());
    }

    #[test]
    fn a_broken_file_is_named_and_not_passed_over() {
        let root = tempfile::tempdir().unwrap();
        for text in ["agent", "", "agent = 7"] {
            write_and_trust(root.path(), text);
            let Err(Failure::Usage { what, .. }) =
                find(&environment(root.path()), root.path(), Setting::Agent)
            else {
                panic!("{text}")
            };
            assert!(what.contains(FILE), "{what}");
        }
    }
}
