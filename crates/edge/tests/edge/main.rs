//! The edge over real sockets: raw bytes in, raw bytes out.
//! Must not know: any protocol.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod deadlines;
mod framing;
mod harness;
mod http2;
mod limits;
mod operations;
mod shutdown;
mod slow;
mod spans;
mod tls;
mod unread;
mod upgrade;
