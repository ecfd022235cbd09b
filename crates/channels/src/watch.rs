//! Who reads a channel live: registered, woken, ended. Wake-ups, never payloads.
//! Must not know: HTTP; what a reader does with what it reads.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use plenary_accounts::{OwnerRoom, Principal, Who, concerned};
use plenary_engine::Room;
use plenary_hub::{Closing, Mailbox, Observer};
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{StoredEvent, StreamName};

use crate::{Channels, WATCHERS_PER_TOKEN_MAX, id::ChannelId, misses::Guesser, room::ChannelRoom};

/// Everyone who reads live in this process.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<Registry>);

#[derive(Default)]
struct Registry {
    closed: bool,
    next: u64,
    by_channel: HashMap<StreamName, Vec<Watcher>>,
    by_token: HashMap<Guesser, usize>,
}

struct Watcher {
    number: u64,
    who: Option<Who>,
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
    channels: Channels,
    number: u64,
    guesser: Guesser,
    pub(crate) stream: StreamName,
    pub(crate) mailbox: Arc<Mailbox>,
}

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everyone; nobody begins any more.
    pub(crate) fn close(&self) {
        let mut registry = self.lock();
        registry.closed = true;
        registry.by_channel.values().flatten().for_each(|watcher| watcher.mailbox.close(Closing::Shutdown));
    }

    fn of(&self, stream: &StreamName) -> Vec<Arc<Mailbox>> {
        let registry = self.lock();
        let watchers = registry.by_channel.get(stream).into_iter().flatten();
        watchers.map(|watcher| watcher.mailbox.clone()).collect()
    }

    /// Whoever it concerns looks again whether its token is valid.
    fn recheck(&self, concerns: impl Fn(&Who) -> bool) {
        let registry = self.lock();
        let watchers = registry.by_channel.values().flatten();
        watchers
            .filter(|watcher| watcher.who.as_ref().is_some_and(&concerns))
            .for_each(|watcher| watcher.mailbox.recheck());
    }
}

impl Channels {
    /// From now on nothing that is committed in the channel goes unmarked.
    pub(crate) fn watch(
        &self,
        id: &ChannelId,
        principal: Option<&Principal>,
        guesser: Guesser,
    ) -> Result<Watch, CannotWatch> {
        let stream = ChannelRoom::stream(id.as_str());
        let mut registry = self.0.watchers.lock();
        if registry.closed {
            return Err(CannotWatch::Stopping);
        }
        let count = registry.by_token.entry(guesser).or_default();
        if *count >= WATCHERS_PER_TOKEN_MAX {
            return Err(CannotWatch::TooMany);
        }
        *count += 1;
        registry.next += 1;
        let (number, mailbox) = (registry.next, Arc::new(Mailbox::default()));
        let who = principal.map(|principal| principal.who.clone());
        let watcher = Watcher { number, who, mailbox: mailbox.clone() };
        registry.by_channel.entry(stream.clone()).or_default().push(watcher);
        Ok(Watch { channels: self.clone(), number, guesser, stream, mailbox })
    }

    fn account_changed(&self, event: &StoredEvent) {
        let agent: Option<AgentHandle> = concerned(event);
        let is_owner = event.stream.category() == OwnerRoom::CATEGORY;
        let owner: Option<OwnerName> = is_owner.then(|| event.stream.id().parse().ok()).flatten();
        if agent.is_none() && owner.is_none() {
            return;
        }
        self.0.watchers.recheck(|who| match who {
            Who::Operator => false,
            Who::Owner(name) => owner.as_ref() == Some(name),
            Who::Agent(handle) => agent.as_ref() == Some(handle),
        });
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut registry = self.channels.0.watchers.lock();
        if let Some(watchers) = registry.by_channel.get_mut(&self.stream) {
            watchers.retain(|watcher| watcher.number != self.number);
            if watchers.is_empty() {
                registry.by_channel.remove(&self.stream);
            }
        }
        if let Some(count) = registry.by_token.get_mut(&self.guesser) {
            *count -= 1;
            if *count == 0 {
                registry.by_token.remove(&self.guesser);
            }
        }
    }
}

impl Observer for Channels {
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let mut grown: HashMap<&StreamName, Vec<&StoredEvent>> = HashMap::new();
        for event in events {
            match event.stream.category() {
                ChannelRoom::CATEGORY => grown.entry(&event.stream).or_default().push(event),
                category if category.starts_with("accounts.") => self.account_changed(event),
                _ => {}
            }
        }
        for (stream, run) in grown {
            run.last().into_iter().for_each(|last| self.0.streams.observe(last));
            let mailboxes = self.0.watchers.of(stream);
            if mailboxes.is_empty() {
                continue;
            }
            // The tail has them before anybody is woken.
            self.0.tail.push(run.iter().copied());
            mailboxes.iter().for_each(|mailbox| mailbox.mark(stream, run[0].version));
        }
        Box::pin(std::future::ready(()))
    }
}
