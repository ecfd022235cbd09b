//! The work session of each terminal, in a file that can be lost without harm.
//! Must not know: the server.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::cli::atomic;

/// Maximum number of remembered sessions; beyond it the least recently used is dropped.
const REMEMBERED_MAX: usize = 200;
/// How long a session may stay unused before it counts as over, in milliseconds: half a day.
const IDLE_MS_MAX: u64 = 12 * 3_600_000;
/// Largest file that is read; a larger one is not ours.
const BYTES_MAX: usize = 1 << 20;

/// The key of a remembered session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) server: String,
    pub(super) project: String,
    /// The caller.
    pub(super) voice: String,
    pub(super) terminal: String,
}

/// A session of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedSession {
    #[serde(flatten)]
    pub(super) key: Key,
    pub(super) session_id: String,
    pub(super) used_at_ms: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Sessions {
    sessions: Vec<SavedSession>,
}

/// The file, which may not exist.
pub(super) struct Memory {
    path: PathBuf,
}

impl Memory {
    pub(super) fn in_dir(directory: &Path) -> Self {
        Self { path: directory.join("context-sessions.json") }
    }

    /// The session of this key, unless it is idle for too long.
    pub(super) fn recall(&self, key: &Key, now_ms: u64) -> Option<String> {
        let is_fresh = |session: &SavedSession| now_ms.saturating_sub(session.used_at_ms) <= IDLE_MS_MAX;
        self.load()
            .sessions
            .into_iter()
            .find(|session| session.key == *key && is_fresh(session))
            .map(|session| session.session_id)
    }

    /// Remembers a session as used now; replaces the one of the same key.
    pub(super) fn remember(&self, used: SavedSession) -> io::Result<()> {
        self.change(|sessions| {
            sessions.retain(|session| session.key != used.key);
            sessions.push(used);
        })
    }

    pub(super) fn forget(&self, session_id: &str) -> io::Result<()> {
        self.change(|sessions| sessions.retain(|session| session.session_id != session_id))
    }

    /// An unreadable file counts as empty: a new session does no harm.
    fn load(&self) -> Sessions {
        let text = std::fs::read(&self.path).unwrap_or_default();
        if text.len() > BYTES_MAX {
            return Sessions::default();
        }
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<SavedSession>)) -> io::Result<()> {
        let directory = self.path.parent().ok_or(ErrorKind::NotFound)?;
        std::fs::create_dir_all(directory)?;
        let lock = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut all = self.load();
        change(&mut all.sessions);
        all.sessions.sort_by_key(|session| std::cmp::Reverse(session.used_at_ms));
        all.sessions.truncate(REMEMBERED_MAX);
        atomic::replace(&self.path, &serde_json::to_vec(&all)?, 0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(terminal: &str, used_at_ms: u64) -> SavedSession {
        let key = Key {
            server: "http://h".into(),
            project: "p".into(),
            voice: "@a.b".into(),
            terminal: terminal.into(),
        };
        SavedSession { key, session_id: format!("sess_{terminal}_{used_at_ms}"), used_at_ms }
    }

    #[test]
    fn ap_13_a_terminal_keeps_its_session_until_it_is_idle_for_long() {
        let root = tempfile::tempdir().unwrap();
        let memory = Memory::in_dir(&root.path().join("deep"));
        let (session, key) = (used("a", 1), used("a", 1).key);
        assert_eq!(memory.recall(&key, 2), None);
        memory.remember(session.clone()).unwrap();
        assert_eq!(memory.recall(&key, IDLE_MS_MAX + 1), Some(session.session_id));
        assert_eq!(memory.recall(&key, IDLE_MS_MAX + 2), None);
        assert_eq!(memory.recall(&used("b", 1).key, 2), None);
        memory.remember(used("a", 7)).unwrap();
        assert_eq!(memory.recall(&key, 8).unwrap(), "sess_a_7");
        memory.forget("sess_a_7").unwrap();
        assert_eq!(memory.recall(&key, 8), None);
    }

    #[test]
    fn the_least_recently_used_session_is_dropped_and_a_damaged_file_counts_as_empty() {
        let root = tempfile::tempdir().unwrap();
        let memory = Memory::in_dir(root.path());
        for n in 0..=REMEMBERED_MAX as u64 {
            memory.remember(used(&n.to_string(), n)).unwrap();
        }
        assert_eq!(memory.recall(&used("0", 0).key, 0), None);
        assert!(memory.recall(&used("1", 0).key, 0).is_some());
        std::fs::write(root.path().join("context-sessions.json"), "{").unwrap();
        assert_eq!(memory.recall(&used("1", 0).key, 0), None);
        memory.remember(used("1", 1)).unwrap();
        assert!(memory.recall(&used("1", 0).key, 1).is_some());
    }
}
