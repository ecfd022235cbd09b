//! Agent Protocol: agents behind the server, their threads, runs and events (wire.md section 4, D.8).
//! Must not know: another protocol, any database, or how any kind of agent but the built-in one is run.

pub mod access;
mod artifacts;
mod budget;
mod caller;
pub mod command;
mod configured;
pub mod decide;
mod deltas;
mod draining;
mod echo;
mod enlisted;
mod enlisting;
pub mod event;
mod finding;
pub mod id {
    //! Ids of runs and threads.
    pub use plenary_wire::runs::{RunId, ThreadId};
}
mod inside;
pub mod limits;
mod live;
mod making;
mod members;
pub mod news;
mod reading;
mod recall;
mod recovery;
mod refusals;
mod registry;
mod request;
mod room;
mod routes;
pub mod runner;
mod runs;
mod served;
mod shares;
pub mod state;
mod supervisor;
mod switch;
#[cfg(test)]
mod tests;
pub mod wire;

pub use echo::Echo;
pub use enlisted::Introduction;
pub use inside::{NotBegun, RunOutput, stops};
pub use refusals::{Refused, refused_response};
pub use registry::{Agent, Registry, RegistryError, RunLimits, handle_of};
pub use routes::{operations, routes};
pub use runner::{
    AgentOperation, Asked, Card, Delta, Ears, Ended, Event, EventKind, FinishReason, Heard, Input,
    NotAnEvent, NotTaken, Output, Recall, Role, Run, RunRequest, Runner, Running, Said, Turn, run_of,
};
pub use runs::Runs;
pub use shares::Quotas;
