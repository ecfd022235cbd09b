//! The channel as a room of the engine: its streams, its indexes, its commands and their facts.
//! Must not know: HTTP.

use plenary_accounts::Accounts;
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};

use crate::{
    access::People,
    command::{
        AdmitOwner, AppendEvent, AppendReceipt, Caller, ChangeKey, CloseChannel, CloseReceipt, CreateChannel,
        CreatedChannel, KeyChanged,
    },
    decide::{self, ChannelDecision, Rejection},
    event::ChannelEvent,
    lookup::people,
    news::mentions,
    state::{self, ChannelState, owner_of},
};

/// Channels by creation time, `<owner>/<created, ms>/<channel>`: those that the owner created or appended to; under
/// [`EVERYBODY`] all channels.
pub(crate) const LISTED: &str = "channels.listed";
/// The channels of [`LISTED`] that are not closed.
pub(crate) const OPEN: &str = "channels.open";
/// The runs of versions that contain an event of a kind: `<channel>/<kind>/<run>`.
pub(crate) const KINDS: &str = "channels.kinds";
/// The channels that mention an agent: `<handle>/<channel>`.
pub(crate) const MENTIONED: &str = "channels.mentioned";
/// The entry for all channels; no owner can have this name.
pub(crate) const EVERYBODY: &str = "*";

/// The key of a channel in [`LISTED`] and [`OPEN`].
fn listed(list: &str, created: TimestampMs, id: &str) -> String {
    format!("{list}/{:014}/{id}", created.0)
}

/// The prefix of a kind's runs in [`KINDS`].
pub(crate) fn kind_prefix(id: &str, kind: &str) -> String {
    format!("{id}/{}/", kind.replace('%', "%25").replace('/', "%2F"))
}

/// The key of one run in [`KINDS`].
pub(crate) fn run_key(prefix: &str, run: u64) -> String {
    format!("{prefix}{run:014}")
}

/// Channels as a room of the engine.
#[derive(Debug)]
pub(crate) struct ChannelRoom;

impl Room for ChannelRoom {
    type State = ChannelState;
    type Event = ChannelEvent;
    const CATEGORY: &'static str = "channels.channel";
    const SNAPSHOT_FORM: u16 = 2;

    fn folds(event: &ChannelEvent) -> bool {
        state::folds(event)
    }
    fn evolve(state: &mut ChannelState, version: Version, at: TimestampMs, event: &ChannelEvent) {
        state.evolve(version, at, event);
    }
    fn payer(_: &str, _: &ChannelState, event: &ChannelEvent) -> Option<OwnerName> {
        match event {
            ChannelEvent::ChannelCreated(event) => owner_of(event.via.as_ref()),
            ChannelEvent::EventAppended(event) => owner_of(event.via.as_ref()),
            ChannelEvent::ChannelClosed(event) => owner_of(event.via.as_ref()),
            ChannelEvent::KeyChanged(event) => owner_of(event.via.as_ref()),
            ChannelEvent::OwnerAdmitted(_) => None,
        }
    }
    fn index(id: &str, event: &ChannelEvent) -> Vec<IndexOp> {
        match event {
            ChannelEvent::ChannelCreated(event) => {
                let owner = owner_of(event.via.as_ref());
                let lists = std::iter::once(EVERYBODY).chain(owner.as_ref().map(OwnerName::as_str));
                lists
                    .flat_map(|list| {
                        [LISTED, OPEN].map(|name| IndexOp::put(name, listed(list, event.created, id)))
                    })
                    .collect()
            }
            ChannelEvent::EventAppended(event) => {
                let run =
                    event.run.map(|run| IndexOp::put(KINDS, run_key(&kind_prefix(id, &event.kind), run)));
                let joins = event.joins.iter().flat_map(|joins| {
                    let lists = if joins.open { &[LISTED, OPEN][..] } else { &[LISTED] };
                    lists
                        .iter()
                        .map(|name| IndexOp::put(name, listed(joins.owner.as_str(), joins.created, id)))
                });
                let named = mentions(&event.payload).into_iter();
                let named = named.map(|handle| IndexOp::put(MENTIONED, format!("{handle}/{id}")));
                run.into_iter().chain(joins).chain(named).collect()
            }
            ChannelEvent::ChannelClosed(event) => {
                let Some(first) = &event.first else { return Vec::new() };
                let lists = std::iter::once(EVERYBODY).chain(first.owners.iter().map(OwnerName::as_str));
                let key = |list| listed(list, first.created, id);
                lists.map(|list| IndexOp::delete(OPEN, key(list))).collect()
            }
            ChannelEvent::OwnerAdmitted(_) | ChannelEvent::KeyChanged(_) => Vec::new(),
        }
    }
}

/// A command with the accounts, which provide its facts.
pub(crate) struct CommandContext<C> {
    pub(crate) accounts: Accounts,
    pub(crate) command: C,
}

/// A command of this room.
pub(crate) trait Decides: Send + Sync {
    const NAME: &'static str;
    type Reply: serde::Serialize + serde::de::DeserializeOwned + Send + Sync;

    fn caller(&self) -> &Caller;
    /// Whether the command ends something or revokes a right, so that it is accepted beyond the owner's quota.
    fn is_ending(&self) -> bool {
        false
    }
    fn decide(
        &self,
        state: &ChannelState,
        head: Version,
        people: &People,
        stamp: &Stamp,
    ) -> ChannelDecision<Self::Reply>;
}

impl<C: Decides> Command<ChannelRoom> for CommandContext<C> {
    const NAME: &'static str = C::NAME;
    type Reply = C::Reply;
    type Rejection = Rejection;
    type Facts = People;

    /// Whether the caller's token is valid, and the trust settings of caller and creator, as conditions of the append.
    async fn facts(&self, state: &ChannelState, conditions: &mut Conditions) -> Result<People, Fault> {
        people(&self.accounts, state, self.command.caller(), conditions).await
    }

    fn decide(&self, state: &ChannelState, people: &People, at: &Point) -> Decided<ChannelRoom, Self> {
        self.command.decide(state, at.version, people, &at.stamp)
    }

    fn exceeds_quota(&self) -> bool {
        self.command.is_ending()
    }
}

macro_rules! decides {
    ($name:literal, $command:ty => $reply:ty $(, $ending:ident)?, |$this:ident, $state:ident, $head:ident, $people:ident, $stamp:ident| $decide:expr) => {
        impl Decides for $command {
            const NAME: &'static str = $name;
            type Reply = $reply;

            fn caller(&self) -> &Caller {
                &self.caller
            }
            $(fn $ending(&self) -> bool {
                true
            })?
            fn decide(
                &self,
                $state: &ChannelState,
                $head: Version,
                $people: &People,
                $stamp: &Stamp,
            ) -> ChannelDecision<$reply> {
                let $this = self;
                $decide
            }
        }
    };
}

decides!("create_channel", CreateChannel => CreatedChannel, |this, state, _head, people, stamp| decide::create(state, people, stamp, this));
decides!("append_event", AppendEvent => AppendReceipt, |this, state, head, people, stamp| decide::append(state, head, people, stamp, this));
decides!("close_channel", CloseChannel => CloseReceipt, is_ending, |this, state, _head, people, stamp| decide::close(state, people, stamp, this));
decides!("admit_owner", AdmitOwner => (), |this, state, _head, people, _stamp| decide::admit(state, people, this));
decides!("change_key", ChangeKey => KeyChanged, is_ending, |this, state, _head, people, _stamp| decide::change_key(state, people, this));
