//! The limits of the edge: how much, how many and how long, each with what happens past it.
//! Must not know: where the values come from.

use std::{sync::Arc, time::Duration};

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
/// Refused connections that are told so at the same time; past it they are dropped without a word.
pub const TURNED_AWAY_MAX: usize = 64;
/// Pause after the system had no file or memory for another connection.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
    /// `SO_SNDBUF` of each connection, in octets: what the kernel keeps for a peer that does not read.
    pub send_buffer_octets: usize,
    /// From the first octet of a head to its last, and from the accept to the first; past it 408 or a close.
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
            handshake_deadline: Duration::from_secs(10),
            drain_deadline: Duration::from_secs(8),
            tls: None,
        }
    }
}
