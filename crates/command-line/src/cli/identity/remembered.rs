//! `started.toml`, in this program's state: the agent of each coding agent in a directory, so that it stays the same
//! however the coding agent is started there, and after `disconnect`; its server, if the server's URL was given; and what
//! `connect` wrote there, because the directory's own record may be deleted.
//! Must not know: the settings of coding agents; tokens.

use std::{
    collections::BTreeMap,
    fs::{self, File as Handle, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use plenary_kernel::AgentHandle;
use tokio::time::{Instant, sleep};

use super::clients::{ClientEntry, Clients};
use crate::{
    cli::{environment::Environment, failure::Failure, settings::File},
    paths,
};

const FILE: &str = "started.toml";
/// How long another process may take to create an agent.
const TURN_WITHIN: Duration = Duration::from_secs(10);
/// How long another process may take to connect a coding agent; it may start a server first, and ask Codex.
const CONNECTED_WITHIN: Duration = Duration::from_secs(60);
/// The pause before a lock is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// The file, which may not exist.
pub(crate) struct RememberedIdentities {
    path: PathBuf,
}

impl RememberedIdentities {
    /// The user's own file.
    pub(crate) fn of(environment: &Environment) -> Result<Self, Failure> {
        let directory = paths::state_dir(&|name| environment.var(name)).ok_or_else(|| {
            Failure::local_with("there is no place to remember the agent: no home directory", "set HOME")
        })?;
        Ok(Self { path: directory.join(FILE) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The entry of a coding agent in exactly this directory.
    pub(crate) fn known(&self, directory: &Path, client: &str) -> Result<Option<ClientEntry>, Failure> {
        let place = directory.to_string_lossy();
        Ok(self.load()?.remove(&*place).and_then(|mut here| here.0.remove(client)))
    }

    /// The entry if `connect` wrote settings in exactly this directory and `disconnect` has not removed them.
    pub(crate) fn written(&self, directory: &Path, client: &str) -> Result<Option<ClientEntry>, Failure> {
        let known = self.known(directory, client)?.filter(|known| !known.created.is_empty());
        Ok(known.map(|known| ClientEntry { url: None, cacert: None, ..known }))
    }

    /// Forgets what was written in a directory.
    pub(crate) fn forget_written(&self, directory: &Path, client: &str) -> Result<(), Failure> {
        let Some(written) = self.known(directory, client)?.filter(|known| !known.created.is_empty()) else {
            return Ok(());
        };
        let bare = ClientEntry::of(written.agent, written.server);
        let bare = ClientEntry { url: written.url, cacert: written.cacert, ..bare };
        let place = directory.to_string_lossy().into_owned();
        self.change(|all| drop(all.entry(place).or_default().0.insert(client.to_owned(), bare)))
    }

    /// Stores the entry; one without written settings leaves the known ones. Concurrent writers wait.
    pub(crate) fn put(&self, directory: &Path, client: &str, entry: ClientEntry) -> Result<(), Failure> {
        let known = self.known(directory, client)?;
        let entry = match known.clone().filter(|_| entry.created.is_empty()) {
            Some(known) => {
                let ClientEntry { agent, server, url, cacert, .. } = entry;
                ClientEntry { agent, server, url, cacert, ..known }
            }
            None => entry,
        };
        if known.as_ref() == Some(&entry) {
            return Ok(());
        }
        let place = directory.to_string_lossy().into_owned();
        self.change(|all| drop(all.entry(place).or_default().0.insert(client.to_owned(), entry)))
    }

    /// Removes a deleted agent.
    pub(crate) fn forget(&self, agent: &AgentHandle) -> Result<(), Failure> {
        self.change(|all| {
            all.values_mut().for_each(|here| here.0.retain(|_, entry| entry.agent != *agent));
            all.retain(|_, here| !here.0.is_empty());
        })
    }

    /// A lock held while an agent is looked up and created, so that two processes do not create two.
    pub(crate) async fn lock_creation(&self) -> Result<Handle, Failure> {
        self.take_turn("turn", TURN_WITHIN).await
    }

    /// A lock held while the records of connected coding agents are read and changed.
    pub(crate) async fn lock_connection(&self) -> Result<Handle, Failure> {
        self.take_turn("connect", CONNECTED_WITHIN).await
    }

    async fn take_turn(&self, kind: &str, within: Duration) -> Result<Handle, Failure> {
        let lock = self.lock(kind)?;
        let until = Instant::now() + within;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(self.unusable("another process holds it"));
                }
                Err(TryLockError::Error(error)) => return Err(self.unusable(&error.to_string())),
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Clients>)) -> Result<(), Failure> {
        let lock = self.lock("lock")?;
        lock.lock().map_err(|error| self.unusable(&error.to_string()))?;
        let mut all = self.load()?;
        change(&mut all);
        let text = toml::to_string(&all).map_err(|error| self.unusable(&error.to_string()))?;
        File::at(&self.path).replace(&text)
    }

    fn lock(&self, kind: &str) -> Result<Handle, Failure> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(|error| self.unusable(&error.to_string()))?;
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).open(self.path.with_extension(kind));
        opened.map_err(|error| self.unusable(&error.to_string()))
    }

    fn load(&self) -> Result<BTreeMap<String, Clients>, Failure> {
        let file = File::at(&self.path);
        let text = file.read()?.unwrap_or_default();
        toml::from_str(&text).map_err(|error| file.unusable(error.message()))
    }

    fn unusable(&self, why: &str) -> Failure {
        File::at(&self.path).unusable(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_keeps_its_agents_until_they_are_deleted() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home").display().to_string();
        let remembered =
            RememberedIdentities::of(&Environment::of_test(root.path(), &[("HOME", &home)])).unwrap();
        let entry = |agent: &str| ClientEntry::of(agent.parse().unwrap(), Some("5e".to_owned()));
        let (a, b) = (Path::new("/w/a"), Path::new("/w/a/b"));
        remembered.put(a, "claude", entry("@nick.claude-a")).unwrap();
        remembered.put(a, "codex", entry("@nick.codex-a")).unwrap();
        assert_eq!(remembered.known(a, "claude").unwrap(), Some(entry("@nick.claude-a")));
        assert_eq!(
            (remembered.known(b, "claude").unwrap(), remembered.known(a, "gemini").unwrap()),
            (None, None)
        );
        remembered.forget(&"@nick.claude-a".parse().unwrap()).unwrap();
        assert_eq!(remembered.known(a, "claude").unwrap(), None);
        assert_eq!(remembered.known(a, "codex").unwrap(), Some(entry("@nick.codex-a")));
    }

    #[test]
    fn what_was_written_stays_until_it_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home").display().to_string();
        let remembered =
            RememberedIdentities::of(&Environment::of_test(root.path(), &[("HOME", &home)])).unwrap();
        let (place, url) = (Path::new("/w/a"), Some("http://127.0.0.1:7".to_owned()));
        let entry = |agent: &str| ClientEntry::of(agent.parse().unwrap(), None);
        let created = vec![".mcp.json".to_owned()];
        let connected = ClientEntry { created, approvals: Some(60), ..entry("@nick.a") };
        remembered.put(place, "claude", ClientEntry { url: url.clone(), ..connected.clone() }).unwrap();
        assert_eq!(remembered.written(place, "claude").unwrap(), Some(connected.clone()));
        remembered.put(place, "claude", ClientEntry { url: url.clone(), ..entry("@nick.b") }).unwrap();
        let agent = entry("@nick.b").agent;
        assert_eq!(remembered.written(place, "claude").unwrap(), Some(ClientEntry { agent, ..connected }));
        remembered.forget_written(place, "claude").unwrap();
        assert_eq!(remembered.written(place, "claude").unwrap(), None);
        assert_eq!(remembered.known(place, "claude").unwrap(), Some(ClientEntry { url, ..entry("@nick.b") }));
    }
}
