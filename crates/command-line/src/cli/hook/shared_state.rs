//! The shared state of the hooks of one agent on this machine: the active hook, and the number of continued turns.
//! Must not know: the delivered messages.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use plenary_kernel::{AgentHandle, SessionId};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::notices;
use crate::{
    cli::{atomic, environment::Environment},
    paths,
};

/// Maximum number of counters; the oldest are dropped. A session has at most seven.
const COUNTS_MAX: usize = 96;
/// Maximum number of noted messages that commands printed; the oldest are dropped.
const PRINTED_MAX: usize = 8;
/// The pause before a lock is tried again.
const PAUSE: Duration = Duration::from_millis(3);

/// The counters of an agent's hooks, locked while one hook reads, prints and reports: another hook of the agent would
/// print the same messages.
pub(super) struct HookState {
    _lock: File,
    path: PathBuf,
}

/// Why a hook cannot use the state.
#[derive(Debug)]
pub(super) enum StateFault {
    NoHome,
    /// Another hook uses it.
    Busy,
    /// The place and the error.
    Unwritable(String),
}

impl StateFault {
    /// What the user has to know: the next event may find it free.
    pub(super) fn notice(&self) -> Option<String> {
        match self {
            Self::Unwritable(why) => Some(notices::unwritable(why)),
            Self::NoHome | Self::Busy => None,
        }
    }
}

impl From<StateFault> for String {
    fn from(fault: StateFault) -> Self {
        match fault {
            StateFault::NoHome => "there is no home directory".to_owned(),
            StateFault::Busy => "another hook of the agent is running".to_owned(),
            StateFault::Unwritable(why) => why,
        }
    }
}

/// How often in a row each session's turn was continued; the latest comes last.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Counts(Vec<(String, u32)>);

impl HookState {
    /// Waits for the other hooks of the agent, up to a deadline.
    pub(super) async fn take(
        environment: &Environment,
        handle: &AgentHandle,
        until: Instant,
    ) -> Result<Self, StateFault> {
        let state = paths::state_dir(&|name| environment.var(name)).ok_or(StateFault::NoHome)?;
        let directory = state.join("hooks");
        let failed =
            |error: std::io::Error| StateFault::Unwritable(format!("{}: {error}", directory.display()));
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
                    return Err(StateFault::Busy);
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// How often in a row the session's turn was continued.
    pub(super) fn stops(&self, session: &str) -> u32 {
        self.count(session)
    }

    /// Stores the count. If that fails, the turn must not be continued.
    pub(super) fn set_stops(&self, session: &str, count: u32) -> Result<(), String> {
        self.set_count(session, count)
    }

    /// The process that waits for the session: the one that started last.
    pub(super) fn waiter(&self, session: &str) -> u32 {
        self.count(&format!("waits {session}"))
    }

    pub(super) fn set_waiter(&self, session: &str, process: u32) -> Result<(), String> {
        self.set_count(&format!("waits {session}"), process)
    }

    /// The process that watches the session, and the program it watches; 0 for none.
    pub(super) fn watcher(&self, session: &str) -> (u32, u32) {
        (self.count(&format!("watches {session}")), self.count(&format!("program {session}")))
    }

    pub(super) fn set_watcher(&self, session: &str, process: u32, program: u32) -> Result<(), String> {
        self.set_count(&format!("watches {session}"), process)?;
        self.set_count(&format!("program {session}"), program)
    }

    /// How often the session was woken since the user's last prompt.
    pub(super) fn wake_count(&self, session: &str) -> u32 {
        self.count(&format!("wakings {session}"))
    }

    pub(super) fn count_wake(&self, session: &str) -> Result<(), String> {
        self.set_count(&format!("wakings {session}"), self.wake_count(session) + 1)
    }

    /// Resets the wakings: the user sent a prompt.
    pub(super) fn reset_wakes(&self, session: &str) -> Result<(), String> {
        if self.wake_count(session) == 0 {
            return Ok(());
        }
        self.set_count(&format!("wakings {session}"), 0)
    }

    /// Whether a line that wakes the session is in the coding agent's queue.
    pub(super) fn is_queued(&self, session: &str) -> bool {
        self.count(&format!("queued {session}")) > 0
    }

    /// Stores whether such a line is queued.
    pub(super) fn set_queued(&self, session: &str, queued: bool) -> Result<(), String> {
        self.set_count(&format!("queued {session}"), queued.into())
    }

    /// Whether this is the first notice to the session's user that messages do not arrive.
    pub(super) fn is_first_notice(&self, session: &str) -> Result<bool, String> {
        let name = format!("away {session}");
        let is_first = self.count(&name) == 0;
        if is_first {
            self.set_count(&name, 1)?;
        }
        Ok(is_first)
    }

    /// Notes a message that a command printed.
    pub(super) fn note_printed(&self, session: &SessionId, sequence: u64) -> Result<(), String> {
        let printed = self.printed();
        for (session, sequence) in &printed[..(printed.len() + 1).saturating_sub(PRINTED_MAX)] {
            self.forget_printed(session, *sequence)?;
        }
        self.set_count(&format!("printed {session} {sequence}"), 1)
    }

    /// The noted messages, oldest first.
    pub(super) fn printed(&self) -> Vec<(SessionId, u64)> {
        let read = |(name, _): &(String, u32)| {
            let (session, sequence) = name.strip_prefix("printed ")?.split_once(' ')?;
            Some((session.parse().ok()?, sequence.parse().ok()?))
        };
        self.load().0.iter().filter_map(read).collect()
    }

    pub(super) fn forget_printed(&self, session: &SessionId, sequence: u64) -> Result<(), String> {
        self.set_count(&format!("printed {session} {sequence}"), 0)
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
        // Others read the file without the lock; they find the old text or the new one, never a part.
        atomic::replace(&self.path, text.as_bytes(), 0o600)
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn load(&self) -> Counts {
        let text = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// The session in a program, as reported by its hooks: the one that started last.
pub(crate) fn session_in(path: &Path, program: u32) -> Option<String> {
    let counts: Counts = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let in_it = |(name, pid): &(String, u32)| {
        (*pid == program).then(|| name.strip_prefix("program ").map(str::to_owned)).flatten()
    };
    counts.0.iter().rev().find_map(in_it)
}

pub(crate) fn state_file_of(environment: &Environment, handle: &AgentHandle) -> Option<PathBuf> {
    let state = paths::state_dir(&|name| environment.var(name))?;
    Some(state.join("hooks").join(format!("{}.json", handle.as_str().trim_start_matches('@'))))
}

/// Whether a process is still the session's watcher, read without the lock. Yes if the entry is missing or being
/// written; no if the state itself is missing.
pub(super) fn is_watched_by(
    environment: &Environment,
    handle: &AgentHandle,
    session: &str,
    process: u32,
) -> bool {
    let Some(Ok(text)) = state_file_of(environment, handle).map(fs::read) else { return false };
    let counts: Counts = serde_json::from_slice(&text).unwrap_or_default();
    let name = format!("watches {session}");
    counts.0.iter().find(|(entry, _)| *entry == name).is_none_or(|(_, watcher)| *watcher == process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hooks_of_one_agent_take_turns_and_count_together() {
        let root = tempfile::tempdir().unwrap();
        let environment = Environment::of_test(root.path(), &[("HOME", root.path().to_str().unwrap())]);
        let (a, b): (AgentHandle, AgentHandle) = ("@n.a".parse().unwrap(), "@n.b".parse().unwrap());
        let soon = || Instant::now() + Duration::from_millis(20);
        let state = HookState::take(&environment, &a, soon()).await.unwrap();
        assert!(HookState::take(&environment, &a, soon()).await.is_err(), "it is taken");
        HookState::take(&environment, &b, soon()).await.unwrap();
        state.set_stops("s", 2).unwrap();
        drop(state);
        let state = HookState::take(&environment, &a, soon()).await.unwrap();
        assert_eq!((state.stops("s"), state.stops("t")), (2, 0));
        state.set_stops("s", 0).unwrap();
        assert_eq!(state.load(), Counts::default());
        state.set_watcher("s", 8, 70).unwrap();
        state.set_watcher("after a restart", 9, 70).unwrap();
        let session_in = |agent, program| session_in(&state_file_of(&environment, agent).unwrap(), program);
        assert_eq!(session_in(&a, 70).as_deref(), Some("after a restart"));
        assert_eq!((session_in(&a, 71), session_in(&b, 70)), (None, None));
        state.set_waiter("s", 7).unwrap();
        state.count_wake("s").unwrap();
        assert_eq!((state.waiter("s"), state.wake_count("s")), (7, 1));
        assert!(state.is_first_notice("s").unwrap() && !state.is_first_notice("s").unwrap());
        state.set_queued("s", true).unwrap();
        assert!(state.is_queued("s") && !state.is_queued("t"));
        let network: SessionId = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        for sequence in 0..=PRINTED_MAX as u64 {
            state.note_printed(&network, sequence).unwrap();
        }
        state.forget_printed(&network, 2).unwrap();
        let printed = state.printed().into_iter().map(|(_, sequence)| sequence);
        assert_eq!(printed.collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7, 8]);
        state.reset_wakes("s").unwrap();
        assert_eq!((state.wake_count("s"), state.stops("s")), (0, 0));
        for n in 0..COUNTS_MAX + 18 {
            state.set_stops(&format!("s{n}"), 1).unwrap();
        }
        assert_eq!((state.load().0.len(), state.stops("s17"), state.stops("s49")), (COUNTS_MAX, 0, 1));
    }
}
