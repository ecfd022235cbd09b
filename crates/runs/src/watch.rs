//! Who follows a thread live: registered, woken, ended. Wake-ups, never payloads.
//! Must not know: HTTP; what a reader does with what it reads.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use plenary_accounts::{Principal, TokenDigest, Who};
use plenary_hub::{Closing, Mailbox};
use plenary_kernel::Version;
use plenary_log::StreamName;

use crate::limits::WATCHERS_PER_TOKEN_MAX;

/// Everyone who follows a thread in this process. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<Registry>>);

#[derive(Default)]
struct Registry {
    closed: bool,
    next: u64,
    by_thread: HashMap<StreamName, Vec<Watcher>>,
    by_token: HashMap<TokenDigest, usize>,
}

struct Watcher {
    number: u64,
    who: Who,
    mailbox: Arc<Mailbox>,
}

/// Why somebody may not watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CannotWatch {
    TooMany,
    Stopping,
}

/// A place among the watchers, until it is dropped.
pub(crate) struct Watch {
    watchers: Watchers,
    number: u64,
    token: TokenDigest,
    pub(crate) stream: StreamName,
    pub(crate) mailbox: Arc<Mailbox>,
}

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on nothing that is committed on the stream goes unmarked.
    pub(crate) fn watch(&self, stream: StreamName, principal: &Principal) -> Result<Watch, CannotWatch> {
        let mut registry = self.lock();
        if registry.closed {
            return Err(CannotWatch::Stopping);
        }
        let token = principal.token;
        let count = registry.by_token.entry(token).or_default();
        if *count >= WATCHERS_PER_TOKEN_MAX {
            return Err(CannotWatch::TooMany);
        }
        *count += 1;
        registry.next += 1;
        let (number, mailbox) = (registry.next, Arc::new(Mailbox::default()));
        let watcher = Watcher { number, who: principal.who.clone(), mailbox: mailbox.clone() };
        registry.by_thread.entry(stream.clone()).or_default().push(watcher);
        Ok(Watch { watchers: self.clone(), number, token, stream, mailbox })
    }

    /// Something was committed on a stream, from this version on. False when nobody follows it.
    pub(crate) fn wake(&self, stream: &StreamName, first: Version) -> bool {
        let registry = self.lock();
        let Some(watchers) = registry.by_thread.get(stream) else { return false };
        watchers.iter().for_each(|watcher| watcher.mailbox.mark(stream, first));
        true
    }

    /// Whether somebody follows a stream.
    pub(crate) fn any(&self, stream: &StreamName) -> bool {
        self.lock().by_thread.contains_key(stream)
    }

    /// Whoever it concerns looks again whether its token is valid.
    pub(crate) fn recheck(&self, concerns: impl Fn(&Who) -> bool) {
        let registry = self.lock();
        let watchers = registry.by_thread.values().flatten();
        watchers.filter(|watcher| concerns(&watcher.who)).for_each(|watcher| watcher.mailbox.recheck());
    }

    /// Ends everyone; nobody begins any more.
    pub(crate) fn close(&self) {
        let mut registry = self.lock();
        registry.closed = true;
        registry.by_thread.values().flatten().for_each(|watcher| watcher.mailbox.close(Closing::Shutdown));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut registry = self.watchers.lock();
        if let Some(watchers) = registry.by_thread.get_mut(&self.stream) {
            watchers.retain(|watcher| watcher.number != self.number);
            if watchers.is_empty() {
                registry.by_thread.remove(&self.stream);
            }
        }
        if let Some(count) = registry.by_token.get_mut(&self.token) {
            *count -= 1;
            if *count == 0 {
                registry.by_token.remove(&self.token);
            }
        }
    }
}
