//! The limits of the edge: sizes, numbers and times, each with its effect.
//! Must not know: the source of the values.

use std::{sync::Arc, time::Duration};

use plenary_kernel::limits::PAGE_BYTES_MAX;

/// Largest head (request line and headers); beyond it 431 and the connection closes.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most headers of a request; beyond it 431 and the connection closes.
pub const HEADERS_MAX: usize = 100;
/// Longest line that gives a chunk's size, extensions included; beyond it 400 and the connection closes.
pub const CHUNK_LINE_BYTES_MAX: usize = 256;
/// Largest trailer section of a chunked body; beyond it 431 and the connection closes.
pub const TRAILER_BYTES_MAX: usize = 4 << 10;
/// Largest buffer of a connection, for reading and for writing; beyond it the peer must wait.
pub const CONNECTION_BUFFER_BYTES_MAX: usize = 64 << 10;
/// Connections that the kernel keeps until they are accepted; beyond it new ones wait for the answer to
/// their SYN.
pub const LISTEN_BACKLOG: i32 = 4096;
/// How long input is drained after a connection is closed, as it would turn the close into a reset.
pub const LINGER: Duration = Duration::from_secs(2);
/// Most input that is drained; beyond it the connection is reset.
pub const LINGER_BYTES_MAX: usize = 4 << 20;
/// Refused connections that get a response at the same time; beyond it they are closed without one.
pub const TURNED_AWAY_MAX: usize = 64;
/// Refused connections of one address that get a response at the same time.
pub const TURNED_AWAY_PER_ADDRESS_MAX: usize = 8;
/// The pause after the system had no file descriptor or memory for another connection.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often the log says that there is none.
pub const ACCEPT_FAULT_EVERY: Duration = Duration::from_secs(60);

/// Answers, or pieces of a streamed one, of at most this many bytes are never delayed: they fit into the
/// memory of a connection.
pub const SMALL_ANSWER_BYTES_MAX: usize = 64 << 10;
/// Reserved before a page is made: for the rows, their encoding, and the answer.
pub const PAGE_RESERVED_BYTES: usize = 3 * PAGE_BYTES_MAX;
/// Reserved before a single large object is made, which is no larger than a body may be.
pub const ITEM_RESERVED_BYTES: usize = 3 << 20;
/// The budget of a streamed answer, whatever its length.
pub const STREAMED_ANSWER_BYTES: usize = 1 << 20;
/// How long a request waits for budget for its answer; beyond it 429 or 503 `overloaded`.
pub const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Most requests that wait for budget at the same time; beyond it 503 `overloaded` at once.
pub const ANSWERS_WAITING_MAX: usize = 4_096;
/// Most requests of one owner or address that wait for budget; beyond it 429 `overloaded` at once.
pub const ANSWERS_WAITING_PER_PAYER_MAX: usize = 256;
/// How long a peer must have stalled before others may take its budget.
pub const STALLED_BEFORE_CUT: Duration = Duration::from_secs(1);
/// How long a peer must have kept up before its next stall counts as a new one.
pub const STALL_FORGOTTEN: Duration = Duration::from_secs(1);
/// Most bytes that are read of a body without a reader, so that the connection can continue; beyond it
/// the connection closes.
pub const UNREAD_BODY_BYTES_MAX: u64 = 64 << 10;
/// How long such a body is awaited; beyond it the connection closes.
pub const UNREAD_BODY_WAIT: Duration = Duration::from_secs(1);

/// Of a body that arrives, this much is never counted: it is hardly more than the memory of a connection.
pub const SMALL_BODY_BYTES_MAX: usize = 16 << 10;
/// A larger one is counted in steps of this many bytes.
pub const BODY_STEP_BYTES: usize = 64 << 10;

/// Most concurrent requests on an HTTP/2 connection; beyond it a client waits, or is refused
/// (`REFUSED_STREAM`). Each further one counts as an open connection.
pub const HTTP2_REQUESTS_MAX: u32 = 100;
/// Most requests of an HTTP/2 connection that its client cancels within [`HTTP2_LOOK`] before they are
/// answered; beyond it further ones get 429, and the connection closes.
pub const HTTP2_ABANDONED_MAX: u32 = 200;
/// Most bytes that a client may send of one body before they are read.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// Most bytes that a client may send of all bodies of a connection before they are read.
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// How long an HTTP/2 client may be silent before it gets a ping.
pub const HTTP2_PING: Duration = Duration::from_secs(20);
/// How long it has to answer the ping; beyond it a close.
pub const HTTP2_PING_WAIT: Duration = Duration::from_secs(20);
/// How often the deadlines of an HTTP/2 connection are checked.
pub const HTTP2_LOOK: Duration = Duration::from_secs(1);

/// The limits of connections.
#[derive(Debug, Clone)]
pub struct Config {
    /// Open connections, WebSockets included; beyond it 503 and a close.
    pub connections_max: usize,
    /// Open connections of one IPv4 address or IPv6 /64; beyond it 503 and a close.
    pub connections_per_address_max: usize,
    /// Whether loopback counts for `connections_per_address_max`; by default not, since a proxy or many agents of
    /// one machine come from there.
    pub count_loopback: bool,
    /// `SO_SNDBUF` of each connection, in bytes: the kernel's buffer for a peer that does not read.
    pub send_buffer_bytes: usize,
    /// The time from the first byte of a head to its last, and from the accept to the first byte; beyond
    /// it 408 or a close.
    pub head_deadline: Duration,
    /// How long a body may arrive at any speed.
    pub body_grace: Duration,
    /// The minimal average speed of a body after the grace period; below it 408 and a close.
    pub body_bytes_per_s_min: u32,
    /// The longest that a body may take at any speed; beyond it 408 and a close.
    pub body_deadline: Duration,
    /// How long a connection may be idle between two requests; beyond it a close.
    pub idle_deadline: Duration,
    /// How long a peer may read nothing of a waiting reply; beyond it a close.
    pub write_deadline: Duration,
    /// How long a stalled peer may read at any speed.
    pub write_grace: Duration,
    /// The minimal average speed of a stalled peer after the grace period; below it a close.
    pub write_bytes_per_s_min: u32,
    /// Most stalled connections; beyond it the one that has stalled longest is closed.
    pub stalled_max: usize,
    /// Most bytes of large answers in progress; beyond it a request waits, then 503 `overloaded`.
    pub answer_bytes_max: usize,
    /// Most such bytes for one owner, or for one address without a token; beyond it 429 `overloaded`.
    pub answer_bytes_per_payer_max: usize,
    /// Most bytes of large bodies that arrive, of known callers; beyond it 503 `overloaded`.
    pub body_bytes_max: usize,
    /// Most such bytes for one owner; beyond it 429 `overloaded`.
    pub body_bytes_per_payer_max: usize,
    /// Most bytes of large bodies that are read before their caller is known; beyond it 503 `overloaded`.
    pub unknown_body_bytes_max: usize,
    /// Most such bytes of one address; beyond it 429 `overloaded`.
    pub unknown_body_bytes_per_address_max: usize,
    /// Most concurrent live streams, which are WebSockets and Server-Sent Events; beyond it 503
    /// `too_many_streams`. The other connections are for requests.
    pub streams_max: usize,
    /// Most live streams of one owner, or of one address without a token; beyond it 429 `too_many_streams`.
    pub streams_per_payer_max: usize,
    /// How long a TLS handshake may take; beyond it a close.
    pub handshake_deadline: Duration,
    /// How long requests may continue after a stop; beyond it they are cut.
    pub drain_deadline: Duration,
    /// TLS, see [`crate::TlsFiles`]; plain HTTP when absent.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

impl Config {
    /// Lowers the number of open connections, and of live streams with it: requests keep their part.
    pub fn allow_connections(&mut self, max: usize) {
        self.connections_max = self.connections_max.min(max);
        self.streams_max = self.streams_max.min(self.connections_max - self.connections_max / 10);
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            connections_per_address_max: 1_000,
            count_loopback: false,
            send_buffer_bytes: 64 << 10,
            head_deadline: Duration::from_secs(10),
            body_grace: Duration::from_secs(10),
            body_bytes_per_s_min: 1024,
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
            body_bytes_max: 128 << 20,
            body_bytes_per_payer_max: 48 << 20,
            unknown_body_bytes_max: 16 << 20,
            unknown_body_bytes_per_address_max: 4 << 20,
            handshake_deadline: Duration::from_secs(10),
            drain_deadline: Duration::from_secs(8),
            tls: None,
        }
    }
}
