//! The journal as a stream of NATS JetStream: three replicas, one record per message, fenced by the stream's last
//! sequence. Wake-ups use a plain subject.
//! Must not know: the content of a record.

mod fit;
mod peers;

use std::{fmt::Display, time::Duration};

use async_nats::{
    Client, ConnectOptions, ServerAddr,
    jetstream::{
        self, Context, ErrorCode,
        context::PublishErrorKind,
        message::PublishMessage,
        stream::{Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType, Stream},
    },
};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use percent_encoding::percent_decode_str;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    ANSWER_MAX, Answer, Extent, HINTS_WAITING_MAX, Hint, Hints, Journal, PublishError, READ_BYTES_MAX,
    READ_RECORDS_MAX, RECORD_BYTES_MAX, ReadError, Record, hint_channel,
};

pub use fit::{UnsuitableServers, VERSION_MIN};
pub use peers::Subjects;

/// Replicas of a stream; with [`Options::dev`] one is enough.
pub const REPLICAS: usize = 3;
/// The pause between two attempts to open.
const AGAIN: Duration = Duration::from_millis(250);
/// Most servers that a start tries after one without JetStream.
const OTHER_SERVERS_MAX: usize = 8;
/// The number of concurrent record reads.
const READS_AT_ONCE: usize = 32;
/// Largest record that a hint includes, in bytes.
const HINT_BYTES_MAX: usize = 1 << 20;
/// The limits of a short-lived journal: age, records and bytes.
const SHORT_AGE: Duration = Duration::from_secs(300);
const SHORT_RECORDS: i64 = 65_536;
const SHORT_BYTES: i64 = 256 << 20;

/// How the servers are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The name of the network that owns the streams: 1 to 32 of a-z, 0-9 and `-`.
    pub network: String,
    /// Whether a single server suffices, at the risk of losing records.
    pub dev: bool,
    /// How long opening waits for servers that start.
    pub start_wait: Duration,
}

/// How long a journal keeps its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// For ever, on disk.
    Forever,
    /// For minutes, in the servers' memory.
    Shortly,
}

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The text does not name servers.
    #[error("{0:?} names no NATS servers: write nats://HOST:PORT, several apart by commas")]
    Servers(String),
    /// The name of the network is not valid.
    #[error("{0:?} can't be the name of a network: 1 to 32 of a-z, 0-9 and `-`")]
    Network(String),
    /// The servers can't be reached, or have no leader.
    #[error("the NATS servers are not ready: {0}")]
    NotReady(String),
    /// The servers must not be used.
    #[error(transparent)]
    UnsuitableServers(#[from] UnsuitableServers),
}

/// A connection to the servers.
#[derive(Debug, Clone)]
pub struct Nats {
    client: Client,
    context: Context,
    options: Options,
}

/// The journal in one stream.
#[derive(Debug, Clone)]
pub struct JetStream {
    client: Client,
    context: Context,
    stream: Stream,
    subject: String,
    hints: String,
}

/// The state of a journal on the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The name of the stream.
    pub stream: String,
    /// Its first and last records.
    pub extent: Extent,
    /// Its size in bytes.
    pub bytes: u64,
    /// The leading server; absent while there is none.
    pub leader: Option<String>,
    /// The other replicas: the server's name, and whether it is up to date.
    pub others: Vec<(String, bool)>,
}

impl Nats {
    /// Connects to one of the servers, `nats://a,nats://b,nats://c`, and checks its requirements.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn connect(servers: &str, options: Options) -> Result<Self, OpenError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(1..=32).contains(&options.network.len()) || !options.network.chars().all(plain) {
            return Err(OpenError::Network(options.network));
        }
        let addresses: Result<Vec<ServerAddr>, _> =
            servers.split(',').map(|server| server.trim().parse()).collect();
        let addresses = addresses.map_err(|_| OpenError::Servers(servers.to_owned()))?;
        let until = Instant::now() + options.start_wait;
        let mut has_waited = false;
        let client = loop {
            let connecting = ConnectOptions::new()
                .name("plenary")
                // A node knows its own messages.
                .no_echo()
                .connection_timeout(ANSWER_MAX)
                // A server that does not answer three pings is replaced by another.
                .ping_interval(Duration::from_secs(2))
                .reconnect_delay_callback(|tries| Duration::from_millis((20 << tries.min(5)).min(500)))
                .subscription_capacity(HINTS_WAITING_MAX);
            match with_credentials(connecting, &addresses).connect(&addresses[..]).await {
                Ok(client) => break client,
                Err(error) if Instant::now() + AGAIN > until => {
                    return Err(OpenError::NotReady(error.to_string()));
                }
                Err(error) => {
                    if !std::mem::replace(&mut has_waited, true) {
                        tracing::warn!(%error, "no NATS server answers yet; waiting for one");
                    }
                    sleep(AGAIN).await;
                }
            }
        };
        let mut others = OTHER_SERVERS_MAX;
        loop {
            let server = client.server_info();
            match fit::server(&server) {
                // A server whose disk is full has stopped it; the next one may still have it.
                Err(UnsuitableServers::NoJetStream(_)) if others > 0 && addresses.len() > 1 => {
                    others -= 1;
                    client.force_reconnect().await.map_err(|error| OpenError::NotReady(error.to_string()))?;
                    sleep(AGAIN).await;
                }
                checked => break checked?,
            }
        }
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ANSWER_MAX);
        Ok(Self { client, context, options })
    }

    /// The journal of a name; created if it does not exist.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn journal(&self, name: &str, keeping: Retention) -> Result<JetStream, OpenError> {
        let config = self.config(name, keeping);
        let until = Instant::now() + self.options.start_wait;
        let stream = loop {
            match self.context.get_or_create_stream(config.clone()).await {
                Ok(stream) => break stream,
                Err(error) if Instant::now() + AGAIN > until => {
                    return Err(OpenError::NotReady(error.to_string()));
                }
                Err(_) => sleep(AGAIN).await,
            }
        };
        fit::stream(&stream.cached_info().config, keeping, self.options.dev)?;
        let subject = config.subjects.first().cloned().unwrap_or_default();
        let hints = format!("{subject}.hint");
        Ok(JetStream { client: self.client.clone(), context: self.context.clone(), stream, subject, hints })
    }

    /// The state of a journal on the servers; `None` if there is none.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn health(&self, name: &str, keeping: Retention) -> Result<Option<Health>, OpenError> {
        let config = self.config(name, keeping);
        let stream = match self.context.get_stream(&config.name).await {
            Ok(stream) => stream,
            Err(error) => {
                if let jetstream::context::GetStreamErrorKind::JetStream(error) = error.kind()
                    && error.error_code() == ErrorCode::STREAM_NOT_FOUND
                {
                    return Ok(None);
                }
                return Err(OpenError::NotReady(error.to_string()));
            }
        };
        let info = stream.cached_info();
        let cluster = info.cluster.as_ref();
        let peers = cluster.map_or(&[][..], |cluster| &cluster.replicas);
        Ok(Some(Health {
            stream: config.name,
            extent: extent(info),
            bytes: info.state.bytes,
            leader: cluster.and_then(|cluster| cluster.leader.clone()),
            others: peers.iter().map(|peer| (peer.name.clone(), peer.current && !peer.offline)).collect(),
        }))
    }

    fn config(&self, name: &str, keeping: Retention) -> Config {
        let network = &self.options.network;
        let common = Config {
            name: format!("plenary-{network}-{name}"),
            subjects: vec![format!("plenary.{network}.{name}")],
            num_replicas: if self.options.dev { 1 } else { REPLICAS },
            retention: RetentionPolicy::Limits,
            max_messages: -1,
            max_bytes: -1,
            max_messages_per_subject: -1,
            max_message_size: -1,
            max_consumers: -1,
            ..Config::default()
        };
        match keeping {
            Retention::Forever => Config {
                storage: StorageType::File,
                discard: DiscardPolicy::New,
                deny_delete: true,
                deny_purge: true,
                ..common
            },
            Retention::Shortly => Config {
                storage: StorageType::Memory,
                discard: DiscardPolicy::Old,
                max_age: SHORT_AGE,
                max_messages: SHORT_RECORDS,
                max_bytes: SHORT_BYTES,
                ..common
            },
        }
    }
}

/// With the user and password of an address, or its token (a user without a password). The library does not take them from
/// there.
fn with_credentials(options: ConnectOptions, addresses: &[ServerAddr]) -> ConnectOptions {
    let text = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let named = addresses.iter().find_map(|address| Some((address.username()?, address.password())));
    match named {
        Some((user, Some(password))) => options.user_and_password(text(user), text(password)),
        Some((token, None)) => options.token(text(token)),
        None => options,
    }
}

fn extent(info: &jetstream::stream::Info) -> Extent {
    Extent { first: info.state.first_sequence, last: info.state.last_sequence }
}

fn unavailable(error: impl Display) -> ReadError {
    ReadError::Unavailable(error.to_string())
}

impl JetStream {
    async fn append(&self, after: u64, body: Bytes) -> Result<(), PublishError> {
        if body.len() > RECORD_BYTES_MAX {
            return Err(PublishError::TooLarge(body.len()));
        }
        let message = PublishMessage::build().expected_last_sequence(after).payload(body.clone());
        let sent = async { self.context.send_publish(self.subject.clone(), message).await?.await };
        match sent.await {
            Ok(answer) if answer.sequence == after + 1 => {}
            Ok(answer) => {
                return Err(PublishError::Unknown(format!(
                    "the record behind {after} got the number {}",
                    answer.sequence
                )));
            }
            Err(error) => {
                return Err(match error.kind() {
                    PublishErrorKind::WrongLastSequence => PublishError::Conflict,
                    PublishErrorKind::MaxPayloadExceeded => PublishError::TooLarge(body.len()),
                    PublishErrorKind::StreamNotFound
                    | PublishErrorKind::WrongLastMessageId
                    | PublishErrorKind::TimedOut
                    | PublishErrorKind::BrokenPipe
                    | PublishErrorKind::MaxAckPending
                    | PublishErrorKind::Other => PublishError::Unknown(error.to_string()),
                });
            }
        }
        self.hint(after + 1, &body).await;
        Ok(())
    }

    /// Sends a hint to the other nodes. A lost hint only delays them until their next read.
    async fn hint(&self, sequence: u64, body: &Bytes) {
        let goes_along = body.len() <= HINT_BYTES_MAX;
        let mut hint = BytesMut::with_capacity(8 + if goes_along { body.len() } else { 0 });
        hint.put_u64(sequence);
        if goes_along {
            hint.put_slice(body);
        }
        let _ = timeout(ANSWER_MAX, self.client.publish(self.hints.clone(), hint.freeze())).await;
    }

    async fn extent_now(&self) -> Result<Extent, ReadError> {
        let info = timeout(ANSWER_MAX, self.stream.get_info()).await.map_err(unavailable)?;
        info.map(|info| extent(&info)).map_err(unavailable)
    }

    async fn one(&self, sequence: u64) -> Result<Record, ReadError> {
        let read = timeout(ANSWER_MAX, self.stream.get_raw_message(sequence)).await.map_err(unavailable)?;
        match read {
            Ok(message) => Ok(Record { sequence, body: message.payload }),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                Err(ReadError::Hole(sequence))
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Reads from the leader: another replica may be behind.
    async fn read_now(&self, after: u64, max: usize) -> Result<Vec<Record>, ReadError> {
        let Extent { last, .. } = self.extent_now().await?;
        let max = max.min(READ_RECORDS_MAX) as u64;
        let range = after + 1..=last.min(after.saturating_add(max));
        let mut coming = stream::iter(range).map(|sequence| self.one(sequence)).buffered(READS_AT_ONCE);
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < READ_BYTES_MAX {
            match coming.try_next().await {
                Ok(Some(record)) => {
                    bytes += record.body.len();
                    records.push(record);
                }
                Ok(None) => break,
                // The records before it are still useful.
                Err(_) if !records.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    async fn listen(&self) -> Result<Hints, ReadError> {
        let subscribed = async {
            let subscription = self.client.subscribe(self.hints.clone()).await.map_err(unavailable)?;
            // Every record that is published after this arrives as a hint.
            self.client.flush().await.map_err(unavailable)?;
            Ok(subscription)
        };
        let mut subscription = timeout(ANSWER_MAX, subscribed).await.map_err(unavailable)??;
        let (to, hints) = hint_channel();
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = subscription.next() => message,
                    () = to.closed() => return,
                };
                let Some(mut body) = message.map(|message| message.payload) else { return };
                let Ok(sequence) = body.try_get_u64() else { continue };
                let body = (!body.is_empty()).then_some(body);
                if !to.send(Hint { sequence, body }) {
                    return;
                }
            }
        });
        Ok(hints)
    }
}

impl Journal for JetStream {
    fn publish(&self, after: u64, body: Bytes) -> Answer<'_, Result<(), PublishError>> {
        Box::pin(self.append(after, body))
    }
    fn read(&self, after: u64, max: usize) -> Answer<'_, Result<Vec<Record>, ReadError>> {
        Box::pin(self.read_now(after, max))
    }
    fn extent(&self) -> Answer<'_, Result<Extent, ReadError>> {
        Box::pin(self.extent_now())
    }
    fn hints(&self) -> Answer<'_, Result<Hints, ReadError>> {
        Box::pin(self.listen())
    }
    fn request_new_leader(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let subject = format!("$JS.API.STREAM.LEADER.STEPDOWN.{}", self.stream.cached_info().config.name);
            let answer = timeout(ANSWER_MAX, self.client.request(subject, Bytes::new())).await;
            tracing::warn!(
                was_answered = matches!(answer, Ok(Ok(_))),
                "another NATS server is asked to lead"
            );
        })
    }
}
