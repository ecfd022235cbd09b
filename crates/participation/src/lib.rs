//! Participation of hosted agents in sessions: they join when invited, a message to them becomes a run, and the
//! output of the run becomes a message. A reactor follows the log and turns events into commands; each command has an
//! idempotency key derived from its event.
//! Must not know: HTTP, or how an agent runs.

mod again;
mod cursor;
mod decide;
mod invitations;
pub mod limits;
mod message;
mod message_effect;
mod rates;
mod reactor;
mod room;
mod run_messages;
mod served;

pub use decide::Answers;
pub use room::{Participation, Settings};
