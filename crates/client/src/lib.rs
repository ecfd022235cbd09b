//! Typed async client of a Plenary server: accounts, the Agent Session Protocol over HTTP, live events and attached
//! agents over WebSocket, frames, channels, context and runs over HTTP and Server-Sent Events, the inbox, exports and
//! backups. The command line and the tests use it.
//! Must not know: the server's crates, terminals, files (except a CA bundle and backups), the source of identities.

pub mod accounts;
pub mod attach;
mod base_url;
pub mod channels;
mod client;
pub mod console;
pub mod contacts;
pub mod context;
mod error;
mod event;
mod exchange;
mod feed;
pub mod frames;
pub mod health;
pub mod inbox;
pub mod live;
pub mod mcp;
pub mod me;
mod net;
mod oversight;
pub mod peers;
mod query;
pub mod receipts;
mod reply;
pub mod requests;
mod retry;
pub mod runs;
pub mod search;
mod secret;
mod server_clock;
pub mod sessions;
pub mod transfer;
mod websocket;

use plenary_outward::sse;

pub use base_url::BaseUrl;
pub use client::{Builder, Client};
pub use error::{Error, FaultKind, NetworkFault, Result, ServerRefusal};
pub use event::{Event, EventBody, LeftReason};
pub use exchange::RawReply;
pub use feed::{Signal, StreamOptions};
pub use net::Roots;
pub use reply::Reply;
pub use retry::{Backoff, IdempotencyKey, Retry};
pub use secret::{Token, TokenKind};
