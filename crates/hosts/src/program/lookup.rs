//! Looks for a program before its first run, so that a wrong name is noticed early.
//! Must not know: how a program is started.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::Program;

impl Program {
    /// Why the program cannot be started here, as far as its files show; the text is for people.
    ///
    /// # Errors
    /// If its directory does not exist, or no executable file has its name.
    pub(crate) fn check(&self) -> Result<(), String> {
        let name = self.command.first().map_or("", String::as_str);
        let cannot = |problem: &str| Err(format!("the program {name} cannot be started: {problem}"));
        if let Some(directory) = self.directory.as_ref().filter(|directory| !directory.is_dir()) {
            return cannot(&format!("there is no directory {}", directory.display()));
        }
        let Some(candidates) = self.candidates(name) else { return Ok(()) };
        if candidates.iter().any(|path| is_executable(path)) {
            return Ok(());
        }
        let place = if name.contains('/') { "" } else { " in PATH" };
        cannot(&format!("there is no executable file of that name{place}"))
    }

    /// The files that may be the program; `None` without PATH, where the system looks in places of its own.
    fn candidates(&self, name: &str) -> Option<Vec<PathBuf>> {
        let directory = self.directory.clone().unwrap_or_default();
        if name.contains('/') {
            return Some(vec![directory.join(name)]);
        }
        let own = self.env.get("PATH").map(OsString::from);
        let path = own.or_else(|| env::var_os("PATH"))?;
        Some(env::split_paths(&path).map(|place| directory.join(place).join(name)).collect())
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Launcher;

    fn check(name: &str, directory: Option<&str>, path: Option<&str>) -> Result<(), String> {
        let env: BTreeMap<_, _> = path.iter().map(|path| ("PATH".to_owned(), (*path).to_owned())).collect();
        let directory = directory.map(PathBuf::from);
        Program::new(&[name.to_owned()], directory.as_ref(), &env, &Launcher::none()).unwrap().check()
    }

    #[test]
    fn a_program_is_found_as_it_will_be_started() {
        for (name, directory, path) in [
            ("/bin/sh", None, None),
            ("sh", None, None),
            ("./sh", Some("/bin"), None),
            ("sh", None, Some("/x:/bin")),
        ] {
            assert_eq!(check(name, directory, path), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_started_is_said() {
        for (name, directory, path, wanted) in [
            ("/nonexistent/x", None, None, "no executable file"),
            (concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), None, None, "no executable file"),
            ("/", None, None, "no executable file"),
            ("sh", None, Some("/nonexistent"), "in PATH"),
            ("sh", Some("/nonexistent"), None, "there is no directory /nonexistent"),
        ] {
            let error = check(name, directory, path).unwrap_err();
            assert!(error.contains(wanted) && error.contains(name), "{error}");
        }
    }
}
