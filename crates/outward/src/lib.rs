//! HTTP to other servers: the trusted certificate authorities, a connection
//! pool, one that is kept to public addresses, and the reading of Server-Sent Events.
//! Must not know: who is asked, or for what.

pub mod guard;
mod pool;
mod roots;
pub mod sse;

pub use pool::{Pool, deepest, retry_after, within};
pub use roots::{TlsFault, client_config, roots};
