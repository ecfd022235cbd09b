//! Receivers: sockets that are read as fast as they fill, each message counted, put in order and timed.
//! Must not know: who sends.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use super::{
    Framing, now_ns, read_stamp, request,
    split::{Kind, pong},
    stamp_in,
};

/// The beginning of an event that carries a message.
const MESSAGE: &[u8] = br#"{"type":"session.message""#;
/// Where its number is; it is within this many bytes.
const SEQUENCE: &[u8] = br#""sequence":"#;
const SEQUENCE_WITHIN: usize = 192;
/// The same for an event of a stream.
const ID: &[u8] = b"id: ";
/// How long receivers may take to get what was acknowledged.
const ARRIVAL_MAX: Duration = Duration::from_secs(60);
/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What a receiver looks at besides counting.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// The numbers of messages must rise: all of them are of one session.
    pub(crate) order: bool,
    /// Bytes read at once.
    pub(crate) buffer: usize,
}

/// What one receiver has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) messages: AtomicU64,
    /// Everything, messages included.
    pub(crate) all: AtomicU64,
    /// The highest number of an event.
    pub(crate) sequence: AtomicU64,
    /// When the first and the last came.
    pub(crate) first_ns: AtomicU64,
    pub(crate) last_ns: AtomicU64,
    /// Nanoseconds from send to arrival.
    latencies: Mutex<Vec<u64>>,
}

/// Connected receivers. Dropping them closes their sockets.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    pub(crate) seen: Vec<Arc<Seen>>,
    /// Whether messages carry the time at which they left, and how long they took is kept.
    timed: Arc<AtomicBool>,
    tasks: JoinSet<Result<()>>,
}

impl Readers {
    /// Connects one more over plain TCP.
    pub(crate) async fn connect(
        &mut self,
        address: SocketAddr,
        framing: Framing,
        watch: Watch,
    ) -> Result<()> {
        let stream = super::dial(address).await?;
        self.take(stream, framing, watch, Vec::new());
        Ok(())
    }

    /// Connects one more over WebSocket. Gives the time just before its request left.
    pub(crate) async fn upgrade(
        &mut self,
        address: SocketAddr,
        path: &str,
        token: &str,
        watch: Watch,
    ) -> Result<u64> {
        let mut upgrade = request("GET", path, token, b"");
        upgrade.truncate(upgrade.len() - 2);
        upgrade.extend_from_slice(
            b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
              sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        );
        let mut stream = super::dial(address).await?;
        let begin = now_ns();
        let first_bytes = open_stream(&mut stream, &upgrade, b"HTTP/1.1 101 ").await?;
        self.take(stream, Framing::WebSocket, watch, first_bytes);
        Ok(begin)
    }

    /// Opens one more stream of server-sent events.
    pub(crate) async fn subscribe(
        &mut self,
        address: SocketAddr,
        path: &str,
        token: &str,
        watch: Watch,
    ) -> Result<()> {
        let mut stream = super::dial(address).await?;
        let first_bytes =
            open_stream(&mut stream, &request("GET", path, token, b""), b"HTTP/1.1 200 ").await?;
        self.take(stream, Framing::Events, watch, first_bytes);
        Ok(())
    }

    fn take(&mut self, stream: TcpStream, framing: Framing, watch: Watch, first_bytes: Vec<u8>) {
        let seen = Arc::new(Seen::default());
        self.seen.push(seen.clone());
        let receiver = Receiver { framing, watch, seen, timed: self.timed.clone() };
        self.tasks.spawn(receiver.run(stream, first_bytes));
    }

    /// Messages that all of them have got together.
    pub(crate) fn messages(&self) -> u64 {
        self.seen.iter().map(|seen| seen.messages.load(Relaxed)).sum()
    }

    /// When the last of all messages came.
    pub(crate) fn last_ns(&self) -> u64 {
        self.seen.iter().map(|seen| seen.last_ns.load(Relaxed)).max().unwrap_or(0)
    }

    /// Waits until something holds; a receiver that ended or a minute without it is an error.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&[Arc<Seen>]) -> bool) -> Result<()> {
        let deadline = Instant::now() + ARRIVAL_MAX;
        while !holds(&self.seen) {
            self.healthy()?;
            if Instant::now() > deadline {
                let got: Vec<_> = self.seen.iter().take(8).map(|seen| seen.messages.load(Relaxed)).collect();
                bail!("{what}: not within {ARRIVAL_MAX:?}; the first receivers have {got:?}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Waits until nothing has come to anybody for this long.
    pub(crate) async fn quiet(&mut self, pause: Duration) -> Result<()> {
        let (mut before, mut since) = (u64::MAX, Instant::now());
        while since.elapsed() < pause {
            self.healthy()?;
            let all = self.seen.iter().map(|seen| seen.all.load(Relaxed)).sum();
            if all != before {
                (before, since) = (all, Instant::now());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Every receiver still reads.
    pub(crate) fn healthy(&mut self) -> Result<()> {
        match self.tasks.try_join_next() {
            None => Ok(()),
            Some(ended) => match ended.context("a receiver")? {
                Ok(()) => bail!("a receiver was closed"),
                Err(error) => Err(error.context("a receiver")),
            },
        }
    }

    /// From now on latencies are kept, or not.
    pub(crate) fn time(&self, on: bool) {
        self.timed.store(on, Relaxed);
    }

    /// The latencies since the last call, all together.
    pub(crate) fn take_latencies(&self) -> Vec<u64> {
        let take = |seen: &Arc<Seen>| std::mem::take(&mut *seen.latencies.lock());
        self.seen.iter().flat_map(take).collect()
    }
}

/// One of them.
struct Receiver {
    framing: Framing,
    watch: Watch,
    seen: Arc<Seen>,
    timed: Arc<AtomicBool>,
}

impl Receiver {
    async fn run(self, mut stream: TcpStream, mut buffer: Vec<u8>) -> Result<()> {
        let (mut begin, mut filled) = (0, buffer.len());
        buffer.resize(self.watch.buffer.max(filled), 0);
        let mut pongs = Vec::new();
        loop {
            while let Some(piece) = self.framing.first(&buffer[begin..filled])? {
                let payload = &buffer[begin + piece.payload..begin + piece.end];
                match piece.kind {
                    Kind::Message => self.take(payload)?,
                    Kind::Ping => pongs.extend(pong(payload)),
                    Kind::Close => bail!("the server closed: {}", String::from_utf8_lossy(payload)),
                    Kind::Other => {}
                }
                begin += piece.end;
            }
            if !pongs.is_empty() {
                stream.write_all(&pongs).await?;
                pongs.clear();
            }
            buffer.copy_within(begin..filled, 0);
            (begin, filled) = (0, filled - begin);
            if filled == buffer.len() {
                buffer.resize(2 * filled.max(64), 0);
            }
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                return Ok(());
            }
            filled += read;
        }
    }

    fn take(&self, payload: &[u8]) -> Result<()> {
        let (now, seen) = (now_ns(), &self.seen);
        if seen.all.fetch_add(1, Relaxed) == 0 {
            seen.first_ns.store(now, Relaxed);
        }
        seen.last_ns.store(now, Relaxed);
        if self.framing == Framing::Events && self.watch.order {
            let number = event_id(payload).context("an event without an id")?;
            let before = seen.sequence.swap(number, Relaxed);
            ensure!(number > before, "event {number} came behind event {before}");
        }
        if self.framing == Framing::WebSocket {
            let is_message = payload.starts_with(MESSAGE);
            if self.watch.order {
                let number = sequence(payload).context("an event without a number")?;
                let before = seen.sequence.swap(number, Relaxed);
                ensure!(!is_message || number > before, "event {number} came behind event {before}");
            }
            if !is_message {
                return Ok(());
            }
        }
        seen.messages.fetch_add(1, Relaxed);
        if self.timed.load(Relaxed) {
            let at = stamp_in(payload).unwrap_or(0);
            let sent = read_stamp(payload, at).context("a message without a stamp")?;
            seen.latencies.lock().push(now.saturating_sub(sent));
        }
        Ok(())
    }
}

/// Sends a request whose answer does not end, and returns the bytes after its head.
pub(super) async fn open_stream(stream: &mut TcpStream, sent: &[u8], expected: &[u8]) -> Result<Vec<u8>> {
    stream.write_all(sent).await?;
    let mut head = Vec::with_capacity(512);
    let end = loop {
        ensure!(stream.read_buf(&mut head).await? > 0, "closed instead of opened");
        if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
            break end + 4;
        }
    };
    ensure!(head.starts_with(expected), "{}", String::from_utf8_lossy(&head));
    Ok(head.split_off(end))
}

fn event_id(event: &[u8]) -> Option<u64> {
    let head = &event[..event.len().min(SEQUENCE_WITHIN)];
    super::digits(&head[memchr::memmem::find(head, ID)? + ID.len()..])
}

fn sequence(event: &[u8]) -> Option<u64> {
    let head = &event[..event.len().min(SEQUENCE_WITHIN)];
    let at = memchr::memmem::find(head, SEQUENCE)? + SEQUENCE.len();
    super::digits(&event[at..])
}
