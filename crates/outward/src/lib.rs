//! HTTP to other servers: the trusted certificate authorities, a connection pool, a client restricted to public
//! addresses, and a reader of Server-Sent Events.
//! Must not know: the callers, the targets and their purpose.

pub mod guard;
mod pool;
mod roots;
pub mod sse;

pub use pool::{Pool, deepest, retry_after, within};
pub use roots::{TlsFault, client_config, roots};
