//! The Agent Protocol (wire.md 4, D.8): the agents behind a server, their runs and threads, and a run's live events.
//! Must not know: the texts for people.

mod calls;
mod event;
mod shapes;
mod stream;

pub use calls::{Artifact, EventPage, RunOrThread, ThreadPage};
pub use event::{EventBody, FinishReason, RunEvent};
pub use shapes::{Chat, Descriptor, OperationOf, RunReceipt, RunReport, RunStatus, Thread};
pub use stream::RunStream;
