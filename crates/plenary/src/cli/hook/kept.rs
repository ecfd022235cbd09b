//! What hooks of one agent share on this machine: who of them is at work, and how often a turn was continued.
//! Must not know: what is delivered.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::PathBuf,
    time::Duration,
};

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{cli::surroundings::Surroundings, paths};

/// Sessions remembered, the latest of them.
const SESSIONS_MAX: usize = 32;
/// How long until a lock is tried again.
const PAUSE: Duration = Duration::from_millis(3);

/// Held while one hook reads, prints and says what it printed: another of the same agent would print it too.
pub(super) struct Turn {
    _lock: File,
    path: PathBuf,
}

/// How often the turn of each session was continued in a row, latest last.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Counts(Vec<(String, u32)>);

impl Turn {
    /// Waits for the other hooks of the agent, no longer than that.
    pub(super) async fn take(
        around: &Surroundings,
        handle: &AgentHandle,
        until: Instant,
    ) -> Result<Self, String> {
        let state = paths::state_dir(&|name| around.var(name)).ok_or("there is no home directory")?;
        let directory = state.join("hooks");
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
        let name = handle.as_str().trim_start_matches('@');
        let path = directory.join(format!("{name}.lock"));
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { _lock: lock, path: directory.join(format!("{name}.json")) }),
                Err(TryLockError::WouldBlock) if Instant::now() + PAUSE < until => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err("another hook of the agent is at work".to_owned());
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// How often the session's turn was continued in a row.
    pub(super) fn stops(&self, session: &str) -> u32 {
        self.load().0.iter().find(|(name, _)| name == session).map_or(0, |(_, count)| *count)
    }

    /// Remembers it. What cannot be remembered must not be done.
    pub(super) fn set_stops(&self, session: &str, count: u32) -> Result<(), String> {
        let mut counts = self.load();
        counts.0.retain(|(name, _)| name != session);
        if count > 0 {
            counts.0.push((session.to_owned(), count));
        }
        let surplus = counts.0.len().saturating_sub(SESSIONS_MAX);
        counts.0.drain(..surplus);
        let text = serde_json::to_string(&counts).map_err(|error| error.to_string())?;
        fs::write(&self.path, text).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn load(&self) -> Counts {
        let text = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Scratch;

    #[tokio::test]
    async fn hooks_of_one_agent_take_turns_and_count_together() {
        let root = Scratch::new("hook-turn");
        let around = Surroundings::of_test(&root, &[("HOME", root.to_str().unwrap())]);
        let (a, b): (AgentHandle, AgentHandle) = ("@n.a".parse().unwrap(), "@n.b".parse().unwrap());
        let soon = || Instant::now() + Duration::from_millis(20);
        let turn = Turn::take(&around, &a, soon()).await.unwrap();
        assert!(Turn::take(&around, &a, soon()).await.is_err(), "it is taken");
        Turn::take(&around, &b, soon()).await.unwrap();
        turn.set_stops("s", 2).unwrap();
        drop(turn);
        let turn = Turn::take(&around, &a, soon()).await.unwrap();
        assert_eq!((turn.stops("s"), turn.stops("t")), (2, 0));
        turn.set_stops("s", 0).unwrap();
        assert_eq!(turn.load(), Counts::default());
        for n in 0..50 {
            turn.set_stops(&format!("s{n}"), 1).unwrap();
        }
        assert_eq!((turn.load().0.len(), turn.stops("s17"), turn.stops("s49")), (SESSIONS_MAX, 0, 1));
    }
}
