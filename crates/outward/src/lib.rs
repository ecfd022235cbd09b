//! What everybody needs who asks other servers over HTTP: the certificate authorities that are trusted, a connection
//! pool, and the reading of Server-Sent Events.
//! Must not know: who is asked, or for what.

mod pool;
mod roots;
pub mod sse;

pub use pool::{Pool, deepest, retry_after, within};
pub use roots::{TlsFault, client_config, roots};
