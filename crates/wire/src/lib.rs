//! What crosses the wire: the operations, and the types of their requests and replies. The server, the client and the
//! command line share them, so each is defined once.
//! Must not know: how a request travels, what is decided about it, where a reply is read from.

pub mod accounts;
pub mod channels;
pub mod inbox;
mod operation;
pub mod runs;
pub mod sessions;

pub use operation::Operation;
pub use plenary_kernel::ErrorCode;
