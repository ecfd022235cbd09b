//! `tokens.toml` in the user's configuration: readable only by its owner, replaced atomically.
//! Must not know: the required token.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::tokens::{MovedServer, Tokens};
use crate::cli::{atomic, failure::Failure};

/// Permission bits that let others read or write a file.
const FOR_OTHERS: u32 = 0o077;
/// Permission bits that let others replace a directory's files.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Largest tokens file that is read; a larger one is not ours.
const BYTES_MAX: u64 = 1 << 20;

/// The file, which may not exist.
#[derive(Debug, Clone)]
pub(crate) struct TokensFile {
    path: PathBuf,
    moved: Option<MovedServer>,
}

impl TokensFile {
    /// The file in a configuration directory.
    pub(crate) fn in_dir(directory: &Path) -> Self {
        Self { path: directory.join("tokens.toml"), moved: None }
    }

    /// The same file, for commands to a server that is not at its usual address.
    pub(crate) fn with_moved(self, moved: Option<MovedServer>) -> Self {
        Self { moved, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its content; empty if it does not exist.
    pub(crate) fn load(&self) -> Result<Tokens, Failure> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Tokens::default().with_moved(self.moved.clone()));
            }
            Err(error) => return Err(self.unusable(&error.to_string(), None)),
        };
        let metadata = file.metadata().map_err(|e| self.unusable(&e.to_string(), None))?;
        if metadata.mode() & FOR_OTHERS != 0 {
            return Err(Failure::auth(
                format!(
                    "{} is readable by other users of this machine, so it is not used",
                    self.path.display()
                ),
                format!(
                    "run `chmod 600 {}`, and rotate the tokens that others may have read",
                    self.path.display()
                ),
            ));
        }
        if metadata.len() > BYTES_MAX {
            return Err(self.unusable("it is too large", None));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| self.unusable(&e.to_string(), None))?;
        // The parser's own error would show the line, and with it a token.
        let tokens: Tokens = toml::from_str(&text)
            .map_err(|_| self.unusable("it is not in the format of a tokens file", Some("move it away")))?;
        Ok(tokens.with_moved(self.moved.clone()))
    }

    /// Changes the content under a lock, so that two concurrent commands lose nothing.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Tokens) -> T) -> Result<T, Failure> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        self.prepare(directory)?;
        let failed = |error: io::Error| self.unusable(&error.to_string(), None);
        let mut private = OpenOptions::new();
        private.write(true).mode(0o600).create(true).truncate(false);
        let lock = private.open(directory.join("tokens.lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut tokens = self.load()?;
        let outcome = change(&mut tokens);
        let text = toml::to_string(&tokens).map_err(|e| self.unusable(&e.to_string(), None))?;
        // A token is on disk before it is reported, because the server shows it only once.
        atomic::replace(&self.path, text.as_bytes(), 0o600).map_err(failed)?;
        Ok(outcome)
    }

    fn prepare(&self, directory: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| self.unusable(&error.to_string(), None);
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let mode = fs::metadata(directory).map_err(failed)?.mode();
        if mode & WRITABLE_BY_OTHERS != 0 {
            return Err(Failure::auth(
                format!("other users of this machine may write into {}", directory.display()),
                format!("run `chmod 700 {}`", directory.display()),
            ));
        }
        Ok(())
    }

    fn unusable(&self, why: &str, next: Option<&str>) -> Failure {
        let what = format!("the tokens file {} cannot be used: {why}", self.path.display());
        Failure::Local { what, next: next.map(str::to_owned) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::cli::{failure::Exit, identity::Holder};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn put(file: &TokensFile, agent: &str, token: &str) -> Result<(), Failure> {
        let server = "http://127.0.0.1:7420".parse().unwrap();
        let holder: Holder = agent.parse().unwrap();
        file.change(|tokens| tokens.put(&server, &holder, token))
    }

    #[test]
    fn file_and_directory_are_made_for_their_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("config/plenary");
        let file = TokensFile::in_dir(&directory);
        assert_eq!(file.load().unwrap().servers().count(), 0);
        put(&file, "@nick.a", "pla_1").unwrap();
        put(&file, "@nick.b", "pla_2").unwrap();
        assert_eq!((mode(&directory), mode(file.path())), (0o700, 0o600));
        let server = "http://127.0.0.1:7420".parse().unwrap();
        assert_eq!(file.load().unwrap().of(&server).holders().count(), 2);
        let left: Vec<_> = fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "only the file and its lock: {left:?}");
    }

    #[test]
    fn an_open_file_or_directory_is_refused_with_the_remedy() {
        let root = tempfile::tempdir().unwrap();
        let file = TokensFile::in_dir(root.path());
        put(&file, "@nick.a", "pla_1").unwrap();
        for open in [0o640, 0o604, 0o660] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(open)).unwrap();
            let Err(Failure::Auth { next, .. }) = file.load() else { panic!("{open:o}") };
            assert!(next.contains("chmod 600"), "{next}");
            assert_eq!(put(&file, "@nick.b", "pla_2").unwrap_err().exit(), Exit::Auth);
        }
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(put(&file, "@nick.b", "pla_2"), Err(Failure::Auth { .. })));
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn a_write_that_was_cut_short_leaves_the_old_file_and_the_next_one_goes_through() {
        let root = tempfile::tempdir().unwrap();
        let file = TokensFile::in_dir(root.path());
        put(&file, "@nick.a", "pla_1").unwrap();
        fs::write(root.path().join(".plenary-torn"), "[servers.\"http").unwrap();
        let server = "http://127.0.0.1:7420".parse().unwrap();
        assert_eq!(file.load().unwrap().of(&server).holders().count(), 1);
        put(&file, "@nick.b", "pla_2").unwrap();
        assert_eq!(file.load().unwrap().of(&server).holders().count(), 2);
        assert_eq!(mode(file.path()), 0o600);
    }

    #[test]
    fn many_writers_at_once_lose_nothing() {
        let root = tempfile::tempdir().unwrap();
        let file = TokensFile::in_dir(root.path());
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = &file;
                scope.spawn(move || put(file, &format!("@nick.a{n}"), "pla_1").unwrap());
            }
        });
        let server = "http://127.0.0.1:7420".parse().unwrap();
        assert_eq!(file.load().unwrap().of(&server).holders().count(), 8);
    }

    #[test]
    fn a_damaged_file_is_never_quoted() {
        let root = tempfile::tempdir().unwrap();
        let file = TokensFile::in_dir(root.path());
        put(&file, "@nick.a", "pla_secret").unwrap();
        fs::write(file.path(), "servers = pla_secret").unwrap();
        let Err(Failure::Local { what, .. }) = file.load() else { panic!() };
        assert!(!what.contains("secret"), "{what}");
    }
}
