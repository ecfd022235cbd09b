//! Agents that this server runs take part in sessions: invited they join, what is said to them becomes a run, and what
//! they answer is a message. A reactor behind the log: from events to commands, each with a key that follows from its
//! event.
//! Must not know: HTTP, or how an agent runs.

mod again;
mod cursor;
mod decide;
mod heard;
mod joining;
pub mod limits;
mod message;
mod rates;
mod reactor;
mod room;
mod served;
mod told;

pub use decide::Answers;
pub use room::{Participation, Settings};
