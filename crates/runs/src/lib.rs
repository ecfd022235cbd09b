//! Agent Protocol: agents that the server runs, their threads, runs and events (wire.md section 4, D.8).
//! Must not know: another protocol, any database, or the implementation of any kind of agent except the built-in one.

pub mod access;
mod agentic;
mod artifacts;
mod budget;
mod caller;
pub mod command;
mod configuration;
pub mod decide;
mod deltas;
mod echo;
mod enlistment;
mod enlistments;
pub mod event;
mod findable;
mod glance;
pub mod id;
mod inside;
pub mod limits;
mod live;
mod lookup;
mod members;
pub mod news;
mod partial_texts;
mod polls;
mod recall;
mod recovery;
mod refusals;
mod registry;
mod request;
mod room;
mod routes;
mod run_reader;
pub mod runner;
mod runs;
mod served;
mod shares;
mod spans;
pub mod state;
mod supervisor;
mod switch;
mod teller;
#[cfg(test)]
mod tests;
pub mod wire;

pub use echo::Echo;
pub use enlistment::Introduction;
pub use inside::{RunOutput, StartError, stops};
pub use refusals::{RunRefusal, refused_response};
pub use registry::{Agent, Registry, RegistryError, RunLimits, handle_of};
pub use routes::{operations, routes};
pub use runner::{
    AgentOperation, Answers, Card, Delta, ELICITATION, EmitError, Event, EventKind, FinishReason, Input,
    InvalidEvent, Output, ProgramMessage, Recall, ReceivedOutput, Role, Run, RunEnd, RunFuture, RunReceiver,
    RunRequest, RunSignal, Runner, Turn, run_channel,
};
pub use runs::Runs;
pub use shares::Quotas;
