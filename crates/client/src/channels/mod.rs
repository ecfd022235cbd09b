//! What clients of the Agent Channel Protocol v2 do beside its plain operations: live reading, who is alive, and the next
//! state of a handoff.
//! Must not know: what a person is told about a channel.

mod address;
mod liveness;
mod paging;
mod state;
mod stream;

pub use address::ChannelAddress;
pub use liveness::{Holder, Liveness, Vital};
pub use paging::Older;
pub use state::{NotAState, handed_over, handoff_of};
pub use stream::{ChannelStream, ChannelSubscription, Signal};
