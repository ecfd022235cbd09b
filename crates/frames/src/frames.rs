//! The frames of a server: the subscriptions, and the delivery from every process on the store.
//! Must not know: HTTP.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use parking_lot::{Mutex, MutexGuard, RwLock};
use plenary_accounts::{AccountEvent, Accounts, TokenDigest};
use plenary_edge::config::SMALL_ANSWER_BYTES_MAX;
use plenary_hub::{ENTRY_BYTES, Emission, Lane, LaneLimits, Observer, Subscription, lane_now};
use plenary_kernel::{AgentHandle, Clock, SovereignHandle, TimestampMs};
use plenary_log::{Fault, Log, Signals, StoredEvent, signals::Signal};
use plenary_room::async_trait;
use tokio::{sync::OnceCell, time::Instant};

use crate::{
    accord_frames::AccordCarrier,
    decide::Audience,
    filter::Filter,
    limits::{BODY_BYTES_MAX, FRAME_BYTES_MAX, ROSTER_ENTRIES_MAX},
    numbers::Numbers,
    rate::{Buckets, Rate},
    session::Session,
    signal::{Envelope, FrameSignal},
    signing_key::FrameKey,
    wire::{RemoteSubscription, RosterEntry},
};

/// The topic of this room's signals.
pub(crate) const TOPIC: &str = "frames";

/// The operator's settings.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The rate limit of each sender.
    pub rate: Rate,
    /// Most events of one handle that are kept for resumption.
    pub max_events: usize,
    /// How long they are kept.
    pub max_age: Duration,
    /// How far a frame's `created_at` may be from our time; unlimited when absent.
    pub max_skew: Option<Duration>,
    /// Whether a submission returns only a rounded count (FO-85).
    pub coarse_counts: bool,
    /// Most subscriptions that the scope of one frame may reach in one process, filters aside; beyond it 403 (FO-79).
    pub expansion_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate: Rate::default(),
            max_events: 256,
            max_age: Duration::from_millis(300_000),
            max_skew: None,
            coarse_counts: false,
            expansion_max: 10_000,
        }
    }
}

/// The frames of a server. Cheap to clone.
#[derive(Clone)]
pub struct Frames(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) accounts: Accounts,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) signals: Signals,
    pub(crate) numbers: Numbers,
    /// By handle.
    pub(crate) lane: Lane<Subscriber, Arc<Event>>,
    pub(crate) config: Config,
    /// Callbacks for frames that arrive for a principal.
    pub(crate) listeners: RwLock<Vec<Listener>>,
    /// The carrier to other networks.
    pub(crate) accords: OnceLock<Arc<dyn AccordCarrier>>,
    log: Log,
    key: OnceCell<Arc<FrameKey>>,
    buckets: Mutex<Buckets>,
    started: Instant,
}

/// Called when a frame arrives for a principal; must not wait.
pub(crate) type Listener = Box<dyn Fn(&SovereignHandle) + Send + Sync>;

/// The facts of a subscription.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) session: Session,
    pub(crate) filter: Filter,
    /// The token that it was opened with.
    pub(crate) token: TokenDigest,
    pub(crate) started_at: TimestampMs,
}

/// A frame on one handle's stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) line: Bytes,
    /// The submitting agent, and the time of arrival.
    pub(crate) submitter: Option<AgentHandle>,
    pub(crate) arrived_at: TimestampMs,
    /// The encoded event, shared by all recipients. `None` for a frame to several handles: they share
    /// its line, and an encoding for each would store it again.
    written: Option<OnceLock<Bytes>>,
}

impl Event {
    /// `id`, one `data` line, LF only (wire.md D.4).
    pub(crate) fn bytes(&self) -> Bytes {
        match &self.written {
            Some(written) => written.get_or_init(|| self.write()).clone(),
            None => self.write(),
        }
    }

    fn write(&self) -> Bytes {
        let id = format!("id: {}\ndata: ", self.number);
        let mut bytes = BytesMut::with_capacity(id.len() + self.line.len() + 2);
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(&self.line);
        bytes.extend_from_slice(b"\n\n");
        bytes.freeze()
    }
}

pub(crate) type FrameSubscription = Subscription<Subscriber, Arc<Event>>;

impl Frames {
    /// The frames of one of the servers that exchange these signals.
    pub fn new(
        log: Log,
        signals: Signals,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        config: Config,
    ) -> Self {
        let limits =
            LaneLimits { entries_max: config.max_events, age_max: config.max_age, ..LaneLimits::default() };
        // The guaranteed retention of a handle for frames of maximal size; never more than half of the
        // total limit.
        let promised = config.max_events.saturating_mul(FRAME_BYTES_MAX + ENTRY_BYTES);
        let limits = LaneLimits {
            key_bytes_max: promised.min(limits.bytes_max / 2),
            // With one more frame a piece is still a small answer, which needs no part of its owner's budget.
            turn_bytes_max: SMALL_ANSWER_BYTES_MAX - BODY_BYTES_MAX,
            ..limits
        };
        Self(Arc::new(Inner {
            accounts,
            numbers: Numbers::new(log.clone(), clock.clone()),
            log,
            key: OnceCell::new(),
            clock,
            signals,
            lane: Lane::new(limits),
            config,
            listeners: RwLock::default(),
            accords: OnceLock::new(),
            buckets: Mutex::new(Buckets::new(config.rate)),
            started: Instant::now(),
        }))
    }

    /// Delivers the signals of this and other processes, until the log is closed; to be spawned before
    /// the first submission.
    pub fn running(&self) -> impl Future<Output = ()> + Send + 'static {
        let (frames, mut signals) = (self.clone(), self.0.signals.subscribe(TOPIC));
        let sweeping = self.0.lane.sweeping();
        let handing_out = async move {
            while let Some(signal) = signals.next().await {
                frames.handle_signal(signal);
            }
        };
        async move {
            tokio::select! {
                () = handing_out => {}
                () = sweeping => {}
            }
        }
    }

    /// Ends every stream and refuses new ones: the server shuts down.
    pub fn close(&self) {
        self.0.lane.close();
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    /// The key that signs wrapped frames and capabilities.
    pub(crate) async fn key(&self) -> Result<Arc<FrameKey>, Fault> {
        let load = || async { FrameKey::load(&self.0.log).await.map(Arc::new) };
        self.0.key.get_or_try_init(load).await.cloned()
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.0.buckets.lock()
    }

    /// Takes one frame out of a sender's bucket; the error is the time until the next one.
    pub(crate) fn admit(&self, sender: &AgentHandle) -> Result<(), Duration> {
        self.buckets().take(sender, self.0.started.elapsed())
    }

    /// The number of sessions that are subscribed to a handle here.
    pub(crate) fn subscriptions(&self, handle: &SovereignHandle) -> usize {
        self.0.lane.count(handle.as_str())
    }

    /// The number of them that an audience admits, without filters.
    pub(crate) fn subscribed(&self, handle: &SovereignHandle, audience: &Audience) -> usize {
        let admitted = self.0.lane.roster(handle.as_str(), |subscriber| audience.admits(&subscriber.session));
        admitted.into_iter().filter(|admitted| *admitted).count()
    }

    fn handle_signal(&self, signal: Signal) {
        let Signal { numbers, body, responder, .. } = signal;
        let answer = match FrameSignal::read(&body) {
            Some(FrameSignal::Frame(envelope)) => {
                let number = |handle: &SovereignHandle| {
                    let counter = counter(handle);
                    numbers.iter().find(|(name, _)| *name == counter).map(|(_, number)| *number)
                };
                let count = self.emit(*envelope, number);
                Bytes::from(count.to_string())
            }
            Some(FrameSignal::Roster(handle)) => self.seen(&handle),
            None => {
                tracing::warn!("ignored a signal of another version");
                return;
            }
        };
        if let Some(responder) = responder {
            responder.answer(answer);
        }
    }

    /// Puts a frame on the stream of each principal that it addresses; returns the number of
    /// subscriptions that get it.
    fn emit(&self, envelope: Envelope, number: impl Fn(&SovereignHandle) -> Option<u64>) -> usize {
        let Envelope { traits, to, except, forget_at_ms, submitter, line } = envelope;
        let forget_at = forget_at_ms.and_then(|ms| self.instant(ms));
        let is_alone = to.len() == 1;
        let shared = Arc::new((traits, except));
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (handle, audience) in to {
            let Some(number) = number(&handle) else { continue };
            let is_own = shared.0.sender == handle;
            let shared = shared.clone();
            let matches = move |subscriber: &Subscriber| {
                let Subscriber { session, filter, .. } = subscriber;
                let (traits, except) = shared.as_ref();
                let is_sender = except.as_ref().is_some_and(|(instrument, id)| {
                    session.agent.owner() == traits.sender.owner()
                        && session.instrument == *instrument
                        && session.id == *id
                });
                !is_sender && audience.admits(session) && filter.admits(traits)
            };
            let (submitter, arrived_at) = (submitter.clone(), self.0.clock.now());
            let event = Event {
                number,
                line: line.clone(),
                submitter,
                arrived_at,
                written: is_alone.then(OnceLock::new),
            };
            let emission = Emission {
                number,
                message: Arc::new(event),
                bytes: line.len(),
                forget_at,
                matches: Arc::new(matches),
            };
            if is_own { &mut own } else { &mut others }.push((handle, emission));
        }
        let mut handles: Vec<_> = own.iter().chain(&others).map(|(handle, _)| handle.clone()).collect();
        // No stream of the sender's owner has it: it is listed for the owner as sent by its agents.
        let sender = &shared.0.sender;
        if let Some(number) = number(sender).filter(|_| own.is_empty()) {
            let event = Event {
                number,
                line: line.clone(),
                submitter,
                arrived_at: self.0.clock.now(),
                written: None,
            };
            let (bytes, matches) = (line.len(), Arc::new(|_: &Subscriber| false));
            let emission = Emission { number, message: Arc::new(event), bytes, forget_at, matches };
            self.0.lane.emit(&sent_by(sender), emission);
            handles.push(sender.clone());
        }
        let own = own.into_iter().map(|(handle, emission)| self.0.lane.emit(handle.as_str(), emission));
        let mut count: usize = own.sum();
        // The messages of an owner in the rings of others have a share of their own.
        if !others.is_empty() {
            let others = others.into_iter().map(|(handle, emission)| (handle.to_string(), emission));
            count += self.0.lane.emit_from(shared.0.sender.as_str(), others.collect());
        }
        for listener in &*self.0.listeners.read() {
            handles.iter().for_each(listener);
        }
        count
    }

    /// The moment of a wall-clock time on the clock of the lane; `None` if it is too far away to matter.
    fn instant(&self, at_ms: i64) -> Option<Instant> {
        let now_ms = i64::try_from(self.0.clock.now().0).unwrap_or(i64::MAX);
        let ahead = u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or(0);
        lane_now().checked_add(Duration::from_millis(ahead))
    }

    /// The subscriptions here, as an answer to another process: the oldest, up to the limit of one
    /// answer.
    fn seen(&self, handle: &SovereignHandle) -> Bytes {
        let mut seen = self.0.lane.roster(handle.as_str(), |subscriber| RemoteSubscription {
            agent: subscriber.session.agent.name().to_owned(),
            instrument: subscriber.session.instrument.clone(),
            tool: subscriber.session.tool.clone(),
            session_id: subscriber.session.id.clone(),
            started_at: subscriber.started_at,
        });
        seen.sort_by_key(|seen| seen.started_at);
        seen.truncate(ROSTER_ENTRIES_MAX);
        Bytes::from(serde_json::to_vec(&seen).expect("names and numbers can be written"))
    }

    /// Merges the answers of processes into one roster.
    pub(crate) fn entries(handle: &SovereignHandle, answers: &[Bytes]) -> Vec<RosterEntry> {
        let mut seen: Vec<RemoteSubscription> = answers
            .iter()
            .filter_map(|answer| serde_json::from_slice::<Vec<RemoteSubscription>>(answer).ok())
            .flatten()
            .collect();
        seen.sort_by(|a, b| (a.started_at, &a.agent).cmp(&(b.started_at, &b.agent)));
        seen.into_iter().filter_map(|seen| seen.entry(handle)).collect()
    }

    /// Ends an agent's streams whose token is no longer valid.
    pub(crate) async fn recheck(&self, agent: &AgentHandle) {
        let valid = match self.0.accounts.agent(agent).await {
            Ok(known) => known.state,
            Err(fault) => {
                tracing::error!(%fault, "an agent cannot be read; its streams end");
                Arc::default()
            }
        };
        let key = format!("~{}", agent.owner());
        self.0.lane.expel(&key, |subscriber| {
            subscriber.session.agent == *agent && !valid.accepts_token(&subscriber.token)
        });
    }
}

#[async_trait]
impl Observer for Frames {
    async fn committed(&self, events: &[StoredEvent]) {
        for event in events {
            if let Some(agent) = AccountEvent::of(event).as_ref().and_then(AccountEvent::rechecked) {
                self.recheck(agent).await;
            }
        }
    }
}

/// The key of the ring of frames that an owner's agents sent only to others. It has no subscriptions.
pub(crate) fn sent_by(sender: &SovereignHandle) -> String {
    format!("sent/{sender}")
}

/// The counter of a handle's events.
pub(crate) fn counter(handle: &SovereignHandle) -> Arc<str> {
    format!("{TOPIC}/{handle}").into()
}
