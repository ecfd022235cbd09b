//! Agent-Channel Fan-Out (wire.md 1): frames, their submission, the per-handle stream, the roster, and the claims
//! that a listener derives from lock-shaped frames.
//! Must not know: the texts for people.

mod calls;
mod clock;
mod frame;
mod leases;
mod payload;
mod scope;
mod stream;
mod uuid;
mod vocabulary;

pub use crate::sse::{EVENT_BYTES_MAX, Item, Parser, SseEvent, TooLong};
pub use calls::{FrameReceipt, Member, Retention, Roster, Seat};
pub use clock::now;
pub use frame::{DEFAULT_HORIZON_MS, Frame, ReceivedFrame, VERSION};
pub use leases::{Change, Lease, Leases, overlap};
pub use payload::{
    Advisory, BindingMoment, Broadcast, DiagnosticRequest, DiagnosticResponse, FlushExecuted, Handover,
    Hatches, IntentDeclare, IntentWithdraw, LeaseExtend, LockRelease, LockRequest, Payload, Query, Question,
    QuestionOption, Response, ReturnEvent,
};
pub use scope::Scope;
pub use stream::{FrameStream, Subscription};
pub use uuid::Uuid;
pub use vocabulary::{ComputeLocation, ContextCheck, EventClass, Kind, Severity, UnknownValue, Urgency};
