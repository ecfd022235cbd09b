//! The channels of a server: it executes commands and returns states.
//! Must not know: HTTP.

use std::{net::IpAddr, sync::Arc};

use plenary_accounts::{Accounts, Watchers};
use plenary_engine::{ExecuteError, Executed, KeyUse, Streams};
use plenary_hub::Tail;
use plenary_kernel::{Clock, OwnerName, TimestampMs, Version};
use plenary_log::{Fault, Log};
use plenary_telemetry::Spans;
use quick_cache::sync::Cache;

use crate::{
    NOTICED_REMEMBERED_MAX, TRIES_PER_LENGTH, WATCHERS_PER_OWNER_MAX,
    command::{Caller, CreateChannel, CreatedChannel},
    decide::Rejection,
    id::{ChannelId, LENGTH_MAX, LENGTH_MIN},
    key::LinkKey,
    liveness::{Cadence, ClockNotice, is_ahead, presence},
    misses::Misses,
    room::{ChannelRoom, CommandContext, Decides},
    state::ChannelState,
    wire::Presence,
};

/// Bytes of recent events that stay in memory for live readers.
const TAIL_BYTES_MAX: usize = 8 << 20;

/// The settings of an operator.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Whether callers need no token (CH-36).
    pub open: bool,
    /// Whether a closed channel refuses further events.
    pub reject_after_close: bool,
    /// `STATUS_CADENCE_SECONDS` (CH-3).
    pub cadence: Cadence,
}

impl Default for Config {
    fn default() -> Self {
        Self { open: false, reject_after_close: false, cadence: Cadence(60) }
    }
}

/// The budget that a live stream counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Watcher {
    Operator,
    Owner(OwnerName),
    /// A caller without a token; `None` for an address that many clients share, such as a proxy's.
    Address(Option<IpAddr>),
}

/// The channels of a server. Cheap to clone.
#[derive(Clone)]
pub struct Channels(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) streams: Streams<ChannelRoom>,
    accounts: Accounts,
    config: Config,
    pub(crate) misses: Misses,
    pub(crate) watchers: Watchers<Watcher>,
    noticed: Cache<ChannelId, ClockNotice>,
    pub(crate) tail: Tail<()>,
    spans: Spans,
}

impl Channels {
    /// The channels of a log. Each appended event is recorded as a span.
    pub fn new(log: Log, clock: Arc<dyn Clock>, accounts: Accounts, spans: Spans, config: Config) -> Self {
        Self(Arc::new(Inner {
            streams: Streams::new(log, clock),
            accounts,
            config,
            misses: Misses::default(),
            watchers: Watchers::new(WATCHERS_PER_OWNER_MAX),
            noticed: Cache::new(NOTICED_REMEMBERED_MAX),
            tail: Tail::new(TAIL_BYTES_MAX),
            spans,
        }))
    }

    pub(crate) fn log(&self) -> &Log {
        self.0.streams.log()
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn spans(&self) -> &Spans {
        &self.0.spans
    }

    pub(crate) fn now(&self) -> TimestampMs {
        self.0.streams.clock().now()
    }

    /// Ends every live stream and refuses new ones.
    pub fn close(&self) {
        self.0.watchers.close();
    }

    /// Executes a command.
    pub(crate) async fn ask<C: Decides>(
        &self,
        id: &ChannelId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>> {
        let context = CommandContext { accounts: self.0.accounts.clone(), command };
        self.0.streams.execute(id.as_str(), &context, key).await
    }

    /// Creates a channel with a random unused id. After several collisions the id gets one character more (CH-37).
    pub(crate) async fn create(
        &self,
        caller: &Caller,
        title: &str,
        created_by: Option<&str>,
        key: Option<&KeyUse>,
    ) -> Result<Executed<CreatedChannel>, ExecuteError<Rejection>> {
        for length in LENGTH_MIN..=LENGTH_MAX {
            for _ in 0..TRIES_PER_LENGTH {
                let id = ChannelId::mint(&self.0.streams.clock().stamp(), length);
                let command = CreateChannel {
                    caller: caller.clone(),
                    id: id.clone(),
                    title: title.to_owned(),
                    created_by: created_by.map(str::to_owned),
                    key: LinkKey::random(),
                };
                match self.ask(&id, command, key).await {
                    Err(ExecuteError::Rejected(Rejection::IdTaken)) => {}
                    answer => return answer,
                }
            }
        }
        Err(Fault::Overloaded.into())
    }

    /// The state of a channel for readers; the empty state if the channel does not exist.
    pub(crate) async fn fresh(&self, id: &ChannelId) -> Result<(Arc<ChannelState>, Version), Fault> {
        self.0.streams.fresh(id.as_str()).await
    }

    /// Which agents are alive on a channel at version `head`, and when its newest state was posted. An event with a time in the
    /// future counts from when that was first noticed, so that a clock that was set back keeps no agent alive.
    pub(crate) fn presence(
        &self,
        id: &ChannelId,
        head: Version,
        state: &ChannelState,
        now: TimestampMs,
    ) -> (Presence, TimestampMs) {
        let mut noticed = self.0.noticed.get(id);
        if is_ahead(state, noticed, now) {
            noticed = Some(ClockNotice { version: head, at: now });
            self.0.noticed.insert(id.clone(), ClockNotice { version: head, at: now });
        }
        let state_at = ClockNotice::dated(noticed, state.state, state.state_at);
        (presence(state, self.0.config.cadence, noticed, now), state_at)
    }
}
