//! Live reading: the connected agents, the unread streams of each connection, and the confirmed position
//! of each agent. Wake-ups have no payload: a connection reads the log from its own cursor, so a lost
//! wake-up delays an event but never loses it.
//! Must not know: any protocol's events, HTTP, WebSockets.

mod cursors;
mod dispatch;
mod lane;
mod mailbox;
mod nodes;
mod presence;
mod reactor;
mod recent;
mod tail;
#[cfg(test)]
mod tests;

pub use cursors::{Cursors, Orphan};
pub use dispatch::{Observer, dispatch};
pub use lane::{
    Delivery, ENTRY_BYTES, Emission, EndReason, Lane, LaneLimits, LaneSize, Matches, SubscribeError,
    Subscription, lane_now,
};
pub use mailbox::{CloseReason, Mailbox, Marks};
pub use nodes::{BEAT_EVERY, Node, SILENT_BEATS};
pub use presence::{ConnectError, Connection, LastClosed, Presence};
pub use reactor::{REACTOR_BYTES_MAX, Reactor};
pub use recent::Recent;
pub use tail::{Row, Tail};

/// Most connections of one agent; another one is refused.
pub const CONNECTIONS_PER_AGENT_MAX: usize = 1_024;
/// Most bytes of recent events in memory; older ones are read from the store.
pub const TAIL_BYTES_MAX: usize = 32 << 20;
