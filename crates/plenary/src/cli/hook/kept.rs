//! What hooks of one agent share on this machine: who of them is at work, and how often a turn was continued.
//! Must not know: what is delivered.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::PathBuf,
    time::Duration,
};

use plenary_client::frames::now;
use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{cli::surroundings::Surroundings, paths};

/// Counts remembered, the latest of them; a session has six at most.
const COUNTS_MAX: usize = 96;
/// So soon behind a waking no person has spoken.
const OWN_WORD_SECONDS: u32 = 60;
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
        self.count(session)
    }

    /// Remembers it. What cannot be remembered must not be done.
    pub(super) fn set_stops(&self, session: &str, count: u32) -> Result<(), String> {
        self.set_count(session, count)
    }

    /// Which process waits for the session: the last one that began to.
    pub(super) fn waits(&self, session: &str) -> u32 {
        self.count(&format!("waits {session}"))
    }

    /// The process that waits from now on.
    pub(super) fn set_waits(&self, session: &str, process: u32) -> Result<(), String> {
        self.set_count(&format!("waits {session}"), process)
    }

    /// Which process looks after the session, and after which program; 0 where none does.
    pub(super) fn watches(&self, session: &str) -> (u32, u32) {
        (self.count(&format!("watches {session}")), self.count(&format!("program {session}")))
    }

    /// The process that does from now on.
    pub(super) fn set_watches(&self, session: &str, process: u32, program: u32) -> Result<(), String> {
        self.set_count(&format!("watches {session}"), process)?;
        self.set_count(&format!("program {session}"), program)
    }

    /// How often the session was woken since its person spoke.
    pub(super) fn wakings(&self, session: &str) -> u32 {
        self.count(&format!("wakings {session}"))
    }

    /// One more.
    pub(super) fn woken(&self, session: &str) -> Result<(), String> {
        self.set_count(&format!("woken {session}"), seconds())?;
        self.set_count(&format!("wakings {session}"), self.wakings(session) + 1)
    }

    /// The person spoke. What comes right behind a waking is the coding agent's own word.
    pub(super) fn spoken(&self, session: &str) -> Result<(), String> {
        let since = seconds().saturating_sub(self.count(&format!("woken {session}")));
        if self.wakings(session) == 0 || since < OWN_WORD_SECONDS {
            return Ok(());
        }
        self.set_count(&format!("wakings {session}"), 0)
    }

    fn count(&self, session: &str) -> u32 {
        self.load().0.iter().find(|(name, _)| name == session).map_or(0, |(_, count)| *count)
    }

    fn set_count(&self, session: &str, count: u32) -> Result<(), String> {
        let mut counts = self.load();
        counts.0.retain(|(name, _)| name != session);
        if count > 0 {
            counts.0.push((session.to_owned(), count));
        }
        let surplus = counts.0.len().saturating_sub(COUNTS_MAX);
        counts.0.drain(..surplus);
        let text = serde_json::to_string(&counts).map_err(|error| error.to_string())?;
        fs::write(&self.path, text).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn load(&self) -> Counts {
        let text = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// Whether a process is to go on looking after a session, read without a turn. What is just being written, or was
/// forgotten, says nothing against it; where nothing is kept any more nobody wants to know.
pub(super) fn is_watched_by(
    around: &Surroundings,
    handle: &AgentHandle,
    session: &str,
    process: u32,
) -> bool {
    let Some(state) = paths::state_dir(&|name| around.var(name)) else { return false };
    let path = state.join("hooks").join(format!("{}.json", handle.as_str().trim_start_matches('@')));
    let Ok(text) = fs::read(path) else { return false };
    let counts: Counts = serde_json::from_slice(&text).unwrap_or_default();
    let wanted = format!("watches {session}");
    counts.0.iter().find(|(name, _)| *name == wanted).is_none_or(|(_, known)| *known == process)
}

/// Seconds of this century.
fn seconds() -> u32 {
    u32::try_from(now().0 / 1_000).unwrap_or(u32::MAX)
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
        turn.set_waits("s", 7).unwrap();
        turn.woken("s").unwrap();
        turn.spoken("s").unwrap();
        assert_eq!((turn.waits("s"), turn.wakings("s")), (7, 1), "that was no person");
        turn.set_count("woken s", seconds() - OWN_WORD_SECONDS).unwrap();
        turn.spoken("s").unwrap();
        assert_eq!((turn.wakings("s"), turn.stops("s")), (0, 0));
        for n in 0..COUNTS_MAX + 18 {
            turn.set_stops(&format!("s{n}"), 1).unwrap();
        }
        assert_eq!((turn.load().0.len(), turn.stops("s17"), turn.stops("s49")), (COUNTS_MAX, 0, 1));
    }
}
