//! What every room has, whatever its protocol: how it is served, how its streams are followed live, what it brings to the
//! inbox, and the form of its refusals.
//! Must not know: accounts, or any protocol.

mod kind;
mod live;
mod news;
mod refused;
mod served;
pub mod sse;
mod watching;

pub use kind::Kind;
pub use live::{Followed, Looked, live};
pub use news::{Description, News, NewsSource, Reference, Senders, StreamOfNews};
pub use refused::{Form, House, Refused, fault_refusal, house_error};
pub use served::{About, Example, Mount, ServedRoom, Task, Turn};
pub use sse::{BURST_OCTETS, KEEPALIVE_MS};
pub use watching::{CannotWatch, Watch, Watchers};
