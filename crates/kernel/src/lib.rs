//! Shared basics of all rooms: names, ids, stamps, log positions, JSON rules and limits.
//! Must not know: I/O, the machine's clock, randomness, async, any protocol.

mod clock;
mod first_message;
pub mod form;
mod handle;
mod id;
pub mod inbox;
pub mod json;
pub mod limits;
mod line_pause;
mod position;
pub mod proof;
mod refusal;
pub mod request_texts;
pub mod rfc3339;
mod shares;
mod stamp;
pub mod text;
mod words;

pub use clock::Clock;
pub use first_message::{first_message_key, is_untitled, opening, takes_untitled};
pub use handle::{
    AgentHandle, AllowEntry, DOCTOR_NAME, MalformedText, OwnerName, PEER_NAME_CHARS_MAX, SovereignHandle,
};
pub use id::{
    AccordId, AskId, ContactId, EventId, FileId, MessageId, NoticeId, RuleId, SessionId, SubscriptionId,
    ulid_time,
};
pub use line_pause::LinePause;
pub use position::{Position, Version};
pub use refusal::{Class, Refusal};
pub use shares::{Share, Shares, SharesFull};
pub use stamp::{Stamp, TimestampMs};
