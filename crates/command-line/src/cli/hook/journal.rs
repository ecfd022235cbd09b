//! The log of hook failures, because hooks report them nowhere else: a file of bounded size.
//! Must not know: the work of hooks.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

use plenary_client::{
    Error,
    frames::{Frame, now},
};

use crate::{
    cli::{environment::Environment, failure::Failure},
    paths,
};

/// Maximum size of the file; beyond it the file is renamed, and replaces the previous one.
const BYTES_MAX: u64 = 64 << 10;
const FILE: &str = "hook.log";

/// The path of the file; `None` without a home.
pub(crate) fn file(environment: &Environment) -> Option<PathBuf> {
    Some(paths::state_dir(&|name| environment.var(name))?.join(FILE))
}

/// Opens the file for appending.
pub(super) fn open(environment: &Environment) -> Option<fs::File> {
    let path = file(environment)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path.parent()?).ok()?;
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > BYTES_MAX) {
        let _stays = fs::rename(&path, path.with_extension("log.old"));
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).ok()
}

/// Appends one line. An error is ignored: there is nowhere to report it.
pub(super) fn note(environment: &Environment, event: &str, what: &str) {
    let event: String = crate::out::clean(event).chars().take(64).collect();
    let line = format!("{} {event}: {}\n", Frame::time(now()), crate::out::clean(what));
    let _unwritable = open(environment).map(|mut file| file.write_all(line.as_bytes()));
}

/// A failure in one line, without private data.
pub(crate) fn describe(failure: &Failure) -> String {
    match failure {
        Failure::Call(Error::Refused(refused)) | Failure::Refused { error: Error::Refused(refused), .. } => {
            format!("the server refused: {} {}", refused.status, refused.code)
        }
        Failure::Call(error) | Failure::Refused { error, .. } => error.to_string(),
        Failure::Usage { what, .. }
        | Failure::Auth { what, .. }
        | Failure::Unreachable { what, .. }
        | Failure::Local { what, .. } => what.clone(),
        Failure::Output(error) => format!("standard output cannot be written: {error}"),
        Failure::Reported(_) => "it stopped early".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_bounded_and_no_line_is_forged() {
        let root = tempfile::tempdir().unwrap();
        let environment = Environment::of_test(root.path(), &[("HOME", root.path().to_str().unwrap())]);
        let path = file(&environment).unwrap();
        note(&environment, "Stop\n", "a\nb");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("Stop\\n: a\\nb\n") && text.lines().count() == 1, "{text}");
        let long = "x".repeat(1000);
        for _ in 0..200 {
            note(&environment, "Stop", &long);
        }
        let size = |path: &PathBuf| fs::metadata(path).unwrap().len();
        assert!(size(&path) <= BYTES_MAX + 1100 && size(&path.with_extension("log.old")) <= BYTES_MAX + 1100);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
    }
}
