//! The Agent Channel Protocol v2 (wire.md 3, D.6): channels and their events, live reading, liveness, and the next
//! state of a handoff.
//! Must not know: the texts for people.

mod address;
mod calls;
mod event;
mod liveness;
mod state;
mod stream;

pub use address::ChannelAddress;
pub use calls::{Channel, EventPage, EventsQuery, NewEvent, Older, Problem, Verdict};
pub use event::ChannelEvent;
pub use liveness::{AgentPresence, Holder, Liveness, Presence, Vital};
pub use state::{NotAState, handed_over, handoff_of};
pub use stream::{ChannelStream, ChannelSubscription};
