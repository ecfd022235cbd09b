//! The Agent Protocol (wire.md 4, D.8): the agents behind a server, their runs and threads, and a run's events as they
//! come.
//! Must not know: what a person is told about a run.

mod calls;
mod event;
mod shapes;
mod stream;

pub use calls::{EventPage, Place};
pub use event::{EventBody, RunEvent};
pub use plenary_wire::runs::FinishReason;
pub use shapes::{Accepted, Chat};
pub use stream::{RunStream, Signal};
