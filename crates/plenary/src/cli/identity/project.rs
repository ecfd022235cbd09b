//! `.plenary.toml`: the agent of a directory and all below it, found upward as `.git` is.
//! Must not know: tokens or servers; a file that comes with foreign code must not be able to name them.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use plenary_kernel::AgentHandle;
use serde::Deserialize;

use crate::cli::failure::Failure;

/// The file's name.
pub(crate) const FILE: &str = ".plenary.toml";

#[derive(Deserialize)]
struct Project {
    agent: AgentHandle,
}

/// The nearest file at or above a directory, and the agent it names.
pub(crate) fn find(directory: &Path) -> Result<Option<(AgentHandle, PathBuf)>, Failure> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(unusable(&path, &error.to_string())),
        };
        let project: Project = toml::from_str(&text).map_err(|error| unusable(&path, error.message()))?;
        return Ok(Some((project.agent, path)));
    }
    Ok(None)
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be used: {why}", path.display()),
        "write it anew with `plenary use @owner.name`, or speak with `--as @owner.name`",
    )
}

/// Makes the agent the one of this directory; whatever else the file holds stays.
pub(crate) fn write(directory: &Path, agent: &AgentHandle) -> Result<PathBuf, Failure> {
    let path = directory.join(FILE);
    let failed = |why: String| Failure::local(format!("{} cannot be written: {why}", path.display()));
    let mut table: toml::Table = match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|e| failed(format!("what it holds is not TOML ({})", e.message())))?,
        Err(error) if error.kind() == ErrorKind::NotFound => toml::Table::new(),
        Err(error) => return Err(failed(error.to_string())),
    };
    table.insert("agent".into(), agent.as_str().into());
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
        let agent = "@nick.assistant".parse().unwrap();
        let path = write(&root, &agent).unwrap();
        assert_eq!(find(&root).unwrap(), Some((agent, path.clone())));
        assert!(std::fs::read_to_string(path).unwrap().contains("colour = \"blue\""));
    }

    #[test]
    fn a_broken_file_is_named_and_not_passed_over() {
        let root = crate::cli::Scratch::new("broken");
        for text in ["agent = \"nick\"", "agent", "", "agent = 7"] {
            std::fs::write(root.join(FILE), text).unwrap();
            let Err(Failure::Usage { what, .. }) = find(&root) else { panic!("{text}") };
            assert!(what.contains(FILE), "{what}");
        }
    }
}
