//! Agent-Channel Fan-Out: short structured messages between the sessions of one principal, and to others (wire.md
//! section 1, decisions D.4, D.5). Frames are ephemeral: the log contains none.
//! Must not know: another protocol, or any database.

mod accord_frames;
mod capability;
pub mod catalogue;
pub mod decide;
mod describe;
pub mod filter;
mod fit;
pub mod frame;
mod frames;
pub mod limits;
pub mod malformed;
pub mod news;
mod numbers;
mod parameters;
mod rate;
mod reconstructed;
mod refusals;
pub mod rejection;
mod routes;
pub mod schema;
pub mod scope;
mod served;
pub mod session;
pub mod shape;
mod signal;
mod signing_key;
mod stream;
pub mod submission;
mod submit;
#[cfg(test)]
mod tests;
mod watch_events;
pub mod wire;

pub use accord_frames::{AccordCarrier, ArrivingFrame, LeavingFrame, ReceiveError, SendError};
pub use describe::page;
pub use frames::{Config, Frames};
pub use rate::Rate;
pub use routes::{operations, routes};
