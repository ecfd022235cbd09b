//! The channels of a server: commands in, states out.
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
    command::{Caller, ChannelMade, CreateChannel},
    decide::Rejection,
    id::{ChannelId, LENGTH_MAX, LENGTH_MIN},
    key::LinkKey,
    liveness::{Cadence, ClockNotice, is_ahead, presence},
    misses::Misses,
    room::{ChannelRoom, CommandContext, Decides},
    state::ChannelState,
    wire::Presence,
};

/// Bytes of recent events that are kept for live readers.
const TAIL_OCTETS_MAX: usize = 8 << 20;

/// What an operator may set.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Whether no token is needed (CH-36).
    pub open: bool,
    /// Whether a closed channel takes no more events.
    pub reject_after_close: bool,
    /// `STATUS_CADENCE_SECONDS` (CH-3).
    pub cadence: Cadence,
}

impl Default for Config {
    fn default() -> Self {
        Self { open: false, reject_after_close: false, cadence: Cadence(60) }
    }
}

/// Whose budget of live streams one is on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Watcher {
    Operator,
    Owner(OwnerName),
    /// Without a token; `None` where the address is nobody's.
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
    /// The channels in a log. Each appended event is recorded as a span.
    #[must_use]
    pub fn new(log: Log, clock: Arc<dyn Clock>, accounts: Accounts, spans: Spans, config: Config) -> Self {
        Self(Arc::new(Inner {
            streams: Streams::new(log, clock),
            accounts,
            config,
            misses: Misses::default(),
            watchers: Watchers::new(WATCHERS_PER_OWNER_MAX),
            noticed: Cache::new(NOTICED_REMEMBERED_MAX),
            tail: Tail::new(TAIL_OCTETS_MAX),
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

    /// Ends every live stream; no new one begins.
    pub fn close(&self) {
        self.0.watchers.close();
    }

    /// Carries out a command.
    pub(crate) async fn ask<C: Decides>(
        &self,
        id: &ChannelId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>> {
        let asked = CommandContext { accounts: self.0.accounts.clone(), command };
        self.0.streams.execute(id.as_str(), &asked, key).await
    }

    /// A channel with an id that nobody had: tried at random, and one character longer where they are taken (CH-37).
    pub(crate) async fn create(
        &self,
        caller: &Caller,
        title: &str,
        created_by: Option<&str>,
        key: Option<&KeyUse>,
    ) -> Result<Executed<ChannelMade>, ExecuteError<Rejection>> {
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

    /// A channel as readers are shown it; the empty state when there is none.
    pub(crate) async fn fresh(&self, id: &ChannelId) -> Result<(Arc<ChannelState>, Version), Fault> {
        self.0.streams.fresh(id.as_str()).await
    }

    /// Who is alive on a channel that is at version `head`, and when its newest state was posted. What is dated ahead of
    /// the clock counts from when that was first seen: a clock that went back keeps nobody alive.
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
