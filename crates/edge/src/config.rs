//! The limits of the edge: how much, how many and how long, each with its effect.
//! Must not know: where the values come from.

use std::{sync::Arc, time::Duration};

use plenary_kernel::limits::PAGE_BYTES_MAX;

/// Largest head (request line and headers); past it 431 and the connection closes.
pub const HEAD_OCTETS_MAX: usize = 16 << 10;
/// Most headers of a request; past it 431 and the connection closes.
pub const HEADERS_MAX: usize = 100;
/// Longest line that gives a chunk's size, extensions included; past it 400 and the connection closes.
pub const CHUNK_LINE_OCTETS_MAX: usize = 256;
/// Largest trailer section of a chunked body; past it 431 and the connection closes.
pub const TRAILER_OCTETS_MAX: usize = 4 << 10;
/// Largest buffer of a connection, for reading and for writing; past it the peer is made to wait.
pub const CONNECTION_BUFFER_OCTETS_MAX: usize = 64 << 10;
/// Connections that the kernel keeps until they are accepted; past it new ones wait for their SYN to be answered.
pub const LISTEN_BACKLOG: i32 = 4096;
/// How long a closed connection is drained of input that would turn the close into a reset.
pub const LINGER: Duration = Duration::from_secs(2);
/// How much input is drained at most; past it the connection is reset.
pub const LINGER_OCTETS_MAX: usize = 4 << 20;
/// Refused connections that get a response at the same time; beyond it they are closed without one.
pub const TURNED_AWAY_MAX: usize = 64;
/// The same of one address.
pub const TURNED_AWAY_PER_ADDRESS_MAX: usize = 8;
/// Pause after the system had no file or memory for another connection.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers, or pieces of a streamed one, of at most this many bytes are never held back: the memory of a connection has
/// room for them.
pub const SMALL_ANSWER_BYTES_MAX: usize = 64 << 10;
/// Reserved before a page is made: what was read, what is written from it, and the answer.
pub const PAGE_RESERVED_BYTES: usize = 3 * PAGE_BYTES_MAX;
/// Reserved before a single large thing is made, which is no larger than a body may be.
pub const ITEM_RESERVED_BYTES: usize = 3 << 20;
/// What a streamed answer holds of the budget, whatever its length.
pub const STREAMED_ANSWER_BYTES: usize = 1 << 20;
/// How long a request waits for the room that its answer needs; past it 429 or 503 `overloaded`.
pub const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Requests that wait for room at the same time; past it 503 `overloaded` at once.
pub const ANSWERS_WAITING_MAX: usize = 4_096;
/// Requests of one owner or address that wait for room; past it 429 `overloaded` at once.
pub const ANSWERS_WAITING_PER_PAYER_MAX: usize = 256;
/// How long a peer must have stalled before others may take its room.
pub const STALLED_BEFORE_CUT: Duration = Duration::from_secs(1);
/// How long a peer must have kept up before its next stall is a new one.
pub const STALL_FORGOTTEN: Duration = Duration::from_secs(1);
/// What is read of a body that no handler wanted, so that the connection can go on; past it the connection closes.
pub const UNREAD_BODY_BYTES_MAX: u64 = 64 << 10;
/// How long such a body is waited for; past it the connection closes.
pub const UNREAD_BODY_WAIT: Duration = Duration::from_secs(1);

/// How the edge treats connections.
#[derive(Debug, Clone)]
pub struct Config {
    /// Open connections, WebSockets included; past it 503 and a close.
    pub connections_max: usize,
    /// Open connections of one IPv4 address or IPv6 /64; past it 503 and a close.
    pub connections_per_address_max: usize,
    /// Whether loopback counts for `connections_per_address_max`; by default not, since a proxy or many agents of
    /// one machine come from there.
    pub count_loopback: bool,
    /// `SO_SNDBUF` of each connection, in bytes: what the kernel keeps for a peer that does not read.
    pub send_buffer_octets: usize,
    /// From the first byte of a head to its last, and from the accept to the first; past it 408 or a close.
    pub head_deadline: Duration,
    /// How long a body may come at any speed.
    pub body_grace: Duration,
    /// The speed a body must keep on average after the grace; below it 408 and a close.
    pub body_octets_per_s_min: u32,
    /// The longest a body may take at any speed; past it 408 and a close.
    pub body_deadline: Duration,
    /// How long a connection may stand between two requests; past it a close.
    pub idle_deadline: Duration,
    /// How long a peer may leave a reply unread without taking any of it; past it a close.
    pub write_deadline: Duration,
    /// How long a peer that stalls may read at any speed.
    pub write_grace: Duration,
    /// The speed at which a peer that stalls must read on average after the grace; below it a close.
    pub write_bytes_per_s_min: u32,
    /// Connections that stall at the same time; past it the one that has stalled longest is closed.
    pub stalled_max: usize,
    /// Bytes of large answers that are being made or read; past it a request waits, then 503 `overloaded`.
    pub answer_bytes_max: usize,
    /// The same of one owner, or of one address without a token; past it 429 `overloaded`.
    pub answer_bytes_per_payer_max: usize,
    /// Live streams, which are WebSockets and Server-Sent Events, at the same time; past it 503 `too_many_streams`. The
    /// other connections are for requests.
    pub streams_max: usize,
    /// The same of one owner, or of one address without a token; past it 429 `too_many_streams`.
    pub streams_per_payer_max: usize,
    /// How long a TLS handshake may take; past it a close.
    pub handshake_deadline: Duration,
    /// How long requests may finish after a stop; past it they are cut.
    pub drain_deadline: Duration,
    /// TLS, see [`crate::tls_config`]; plain HTTP when absent.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            connections_per_address_max: 1_000,
            count_loopback: false,
            send_buffer_octets: 64 << 10,
            head_deadline: Duration::from_secs(10),
            body_grace: Duration::from_secs(10),
            body_octets_per_s_min: 1024,
            body_deadline: Duration::from_secs(60),
            idle_deadline: Duration::from_secs(75),
            write_deadline: Duration::from_secs(60),
            write_grace: Duration::from_secs(30),
            write_bytes_per_s_min: 8 << 10,
            stalled_max: 1_024,
            streams_max: 18_000,
            streams_per_payer_max: 12_000,
            answer_bytes_max: 128 << 20,
            answer_bytes_per_payer_max: 48 << 20,
            handshake_deadline: Duration::from_secs(10),
            drain_deadline: Duration::from_secs(8),
            tls: None,
        }
    }
}
