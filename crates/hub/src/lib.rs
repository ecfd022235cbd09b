//! Live reading: who is connected, what each connection still has to read, how far each agent has confirmed.
//! Wake-ups, never payloads: a connection reads the log from its own cursor, and an event that nobody woke it
//! for is only late, never lost. Must not know: any protocol's events, HTTP, WebSockets.

mod cursors;
mod dispatch;
mod lane;
mod mailbox;
mod presence;
mod recent;
mod tail;
#[cfg(test)]
mod tests;

pub use cursors::{Cursors, NODE_LEASE_MS, Node, Orphan};
pub use dispatch::{Observer, dispatch};
pub use lane::{
    Delivery, ENTRY_OCTETS, Emission, Ended, Lane, LaneLimits, LaneSize, Matches, SubscribeError,
    Subscription,
};
pub use mailbox::{Closing, Mailbox, Marks};
pub use presence::{ConnectError, Connection, LastClosed, Presence};
pub use recent::Recent;
pub use tail::{Row, Tail};

/// Most connections of one agent; past it the next one is refused.
pub const CONNECTIONS_PER_AGENT_MAX: usize = 1_024;
/// Most bytes of recent events in memory; past it the oldest are read from the store again.
pub const TAIL_OCTETS_MAX: usize = 32 << 20;
