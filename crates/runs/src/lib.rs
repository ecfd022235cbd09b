//! Agent Protocol: agents behind the server, their threads, runs and events (wire.md section 4, D.8).
//! Must not know: another protocol, any database, or how any kind of agent but the built-in one is run.

pub mod id;
pub mod limits;
mod members;
mod registry;
pub mod runner;

pub use registry::{Agent, Registry, RegistryError, RunLimits};
pub use runner::{
    AgentOperation, Asked, Card, Delta, Ears, Ended, Event, EventKind, FinishReason, Input, NotAnEvent,
    NotTaken, Output, Recall, Role, Run, RunRequest, Runner, Running, Said, Turn, run_of,
};
