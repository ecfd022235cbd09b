//! The console's handle, and its state in the process.
//! Must not know: HTTP.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use axum::extract::FromRef;
use parking_lot::Mutex;
use plenary_accounts::{Accounts, Watchers};
use plenary_edge::Origin;
use plenary_engine::Streams;
use plenary_issuers::Issuers;
use plenary_kernel::{Clock, OwnerName, Position, TimestampMs, Version};
use plenary_log::{Fault, HighWater, Log, StreamName};
use plenary_room::{EphemeralSource, Findable, Glancer, Teller};
use ring::hmac;
use tokio::sync::OnceCell;

use crate::{
    audit::AuditRoom, challenges::Failures, limits::WATCHES_PER_OWNER_MAX, overview::Day, wakes::Wakes,
};

/// The room. Cheap to clone.
#[derive(Clone)]
pub struct Console(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) log: Log,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) accounts: Accounts,
    pub(crate) issuers: Issuers,
    pub(crate) audits: Streams<AuditRoom>,
    /// The rooms have received all events up to here.
    pub(crate) handed: HighWater,
    pub(crate) watchers: Watchers<String>,
    /// Up to where the watchers were marked.
    wakes: Wakes,
    /// The streams that follow ephemeral events, by owner.
    pub(crate) ephemeral: Watchers<String>,
    /// Today's counts by owner; the empty name stands for the operator.
    pub(crate) days: Mutex<HashMap<String, Day>>,
    pub(crate) challenge_key: OnceCell<hmac::Key>,
    failures: Failures,
    around: OnceLock<RoomReaders>,
}

/// The interfaces of the rooms that the console reads from.
#[derive(Default)]
pub struct RoomReaders {
    /// The sources of events in the log, for `/watch`.
    pub tellers: Vec<Arc<dyn Teller>>,
    /// The sources of ephemeral events, for `/watch`.
    pub ephemeral: Vec<Arc<dyn EphemeralSource>>,
    /// The sources of agents' states.
    pub glancers: Vec<Arc<dyn Glancer>>,
    /// The sources of searchable texts.
    pub findables: Vec<Arc<dyn Findable>>,
}

impl std::fmt::Debug for RoomReaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoomReaders").finish_non_exhaustive()
    }
}

/// The stream name under which readers wait for the ephemeral events of an owner.
pub(crate) fn ephemeral_stream(owner: &OwnerName) -> StreamName {
    StreamName::new("console.ephemeral", owner.as_str())
}

impl Console {
    /// The room of a log. People can sign in at these issuers.
    pub fn new(log: Log, clock: Arc<dyn Clock>, accounts: Accounts, issuers: Issuers) -> Self {
        let audits = Streams::new(log.clone(), clock.clone());
        Self(Arc::new(Inner {
            log,
            clock,
            accounts,
            issuers,
            audits,
            handed: HighWater::default(),
            watchers: Watchers::new(WATCHES_PER_OWNER_MAX),
            wakes: Wakes::default(),
            ephemeral: Watchers::new(WATCHES_PER_OWNER_MAX),
            days: Mutex::default(),
            challenge_key: OnceCell::new(),
            failures: Failures::default(),
            around: OnceLock::new(),
        }))
    }

    /// Sets the sources of the console, and marks everything committed so far as received by the rooms. Only the first call
    /// sets the sources.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin(&self, around: RoomReaders) -> Result<(), Fault> {
        for source in &around.ephemeral {
            let watchers = self.0.ephemeral.clone();
            source.on_arrival(Box::new(move |owner| watchers.wake(&ephemeral_stream(owner), Version(1))));
        }
        let _ = self.0.around.set(around);
        let head = self.0.log.head().await?;
        self.0.wakes.start_at(head);
        self.0.handed.raise(head);
        Ok(())
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn issuers(&self) -> &Issuers {
        &self.0.issuers
    }
    pub(crate) fn failures(&self) -> &Failures {
        &self.0.failures
    }
    pub(crate) fn now(&self) -> TimestampMs {
        self.0.clock.now()
    }
    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }
    pub(crate) fn watchers(&self) -> &Watchers<String> {
        &self.0.watchers
    }
    pub(crate) fn ephemeral_watchers(&self) -> &Watchers<String> {
        &self.0.ephemeral
    }
    pub(crate) fn wakes(&self) -> &Wakes {
        &self.0.wakes
    }
    pub(crate) fn handed(&self) -> Position {
        self.0.handed.position()
    }
    /// The source of a stream's events.
    pub(crate) fn teller(&self, stream: &StreamName) -> Option<&Arc<dyn Teller>> {
        self.0.around.get()?.tellers.iter().find(|teller| teller.tells_of(stream))
    }
    /// The room that makes a stream's events searchable.
    pub(crate) fn findable(&self, stream: &StreamName) -> Option<&Arc<dyn Findable>> {
        let is_its = |room: &&Arc<dyn Findable>| room.categories().contains(&stream.category());
        self.0.around.get()?.findables.iter().find(is_its)
    }
    /// The sources of ephemeral events.
    pub(crate) fn ephemeral(&self) -> &[Arc<dyn EphemeralSource>] {
        self.0.around.get().map(|around| &*around.ephemeral).unwrap_or_default()
    }
    /// The sources of agents' states.
    pub(crate) fn glancers(&self) -> &[Arc<dyn Glancer>] {
        self.0.around.get().map(|around| &*around.glancers).unwrap_or_default()
    }
}

/// The state of the routes: the room, and the URL by which clients reach the server.
#[derive(Clone)]
pub(crate) struct ConsoleState {
    pub(crate) console: Console,
    pub(crate) origin: Arc<Origin>,
}

impl FromRef<ConsoleState> for Accounts {
    fn from_ref(state: &ConsoleState) -> Self {
        state.console.0.accounts.clone()
    }
}
