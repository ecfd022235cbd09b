//! The memory of pending answers: one budget for the process, and a share for each payer, so that slow readers delay
//! only themselves.
//! Must not know: the content of answers, or the form of a room's refusals.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Waker,
};

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use hyper::body::Body as _;
use parking_lot::{Mutex, MutexGuard};
use plenary_kernel::{Class, Refusal, Share, Shares, SharesFull};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{
    bodies::BodyBudget,
    config::{
        ANSWER_WAIT, ANSWERS_WAITING_MAX, ANSWERS_WAITING_PER_PAYER_MAX, Config, SMALL_ANSWER_BYTES_MAX,
        STALLED_BEFORE_CUT, STREAMED_ANSWER_BYTES,
    },
    stalled::StalledReaders,
};

/// The share of the budget that an answer counts towards.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    Owner(Arc<str>),
    Operator,
    Address(IpAddr),
    /// An unknown client: without a token, from the loopback or a proxy.
    Anyone,
}

impl Payer {
    fn of(address: Option<IpAddr>) -> Self {
        address.map_or(Self::Anyone, Self::Address)
    }
}

/// The caller, as far as the budget of answers distinguishes callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetCaller<'a> {
    /// An owner, or an agent of it.
    Owner(&'a str),
    /// The operator.
    Operator,
    /// A caller without a token.
    Nobody,
}

/// Marks an answer whose body all requests share, so that it counts towards no share: a response
/// extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedAnswer;

/// Marks an answer that stays open for further events, in a form that its media type does not show: a
/// response extension. It counts as a live stream, like Server-Sent Events.
#[derive(Debug, Clone, Copy)]
pub struct LiveStream;

/// The budget of the process.
pub(crate) struct AnswerBudget {
    shares: Shares<Payer>,
    waiting: Shares<Payer>,
    streams: Shares<Payer>,
    bodies: BodyBudget,
    waiters: AtomicUsize,
    released: Notify,
    pub(crate) stalled: StalledReaders,
}

/// The budget of one connection's answers. Handlers find it in the extensions of their request.
#[derive(Clone)]
pub struct Allowance(Arc<Inner>);

struct Inner {
    budget: Arc<AnswerBudget>,
    state: Mutex<State>,
    /// Bytes of answers that this connection holds.
    holding: Arc<AtomicUsize>,
    is_cut: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

struct State {
    payer: Payer,
    /// Whether the current request has named its payer.
    is_known: bool,
    /// The address of the current request.
    address: Option<IpAddr>,
    /// The most that the current operation may need; 0 if its answers are small.
    expected: usize,
    /// For an inner request: what the request around it has reserved.
    covered: usize,
    reserved: Option<BudgetShare>,
    is_overloaded: bool,
}

/// A part of the budget, until it is dropped.
pub(crate) struct BudgetShare {
    /// Present until the drop.
    share: Option<Share<Payer>>,
    amount: usize,
    budget: Arc<AnswerBudget>,
    holding: Arc<AtomicUsize>,
}

/// Bytes that keep their part of the budget as long as a part of them is in use.
struct BudgetedBytes {
    bytes: Bytes,
    _share: Arc<BudgetShare>,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Allowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Allowance")
    }
}

impl AnswerBudget {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            shares: Shares::new(config.answer_bytes_max, config.answer_bytes_per_payer_max),
            waiting: Shares::new(ANSWERS_WAITING_MAX, ANSWERS_WAITING_PER_PAYER_MAX),
            streams: Shares::new(config.streams_max, config.streams_per_payer_max),
            bodies: BodyBudget::new(config),
            waiters: AtomicUsize::new(0),
            released: Notify::new(),
            stalled: StalledReaders::new(config.stalled_max),
        })
    }
}

impl BudgetShare {
    fn take(inner: &Inner, payer: &Payer, amount: usize) -> Result<Self, SharesFull> {
        let share = inner.budget.shares.take(payer.clone(), amount)?;
        inner.holding.fetch_add(amount, Ordering::Relaxed);
        let (budget, holding) = (inner.budget.clone(), inner.holding.clone());
        Ok(Self { share: Some(share), amount, budget, holding })
    }

    /// Returns the unused part.
    fn shrink(&mut self, amount: usize) {
        if amount < self.amount
            && let Some(share) = &mut self.share
        {
            share.shrink(amount);
            self.holding.fetch_sub(self.amount - amount, Ordering::Relaxed);
            self.amount = amount;
            self.notify_waiters();
        }
    }

    fn notify_waiters(&self) {
        if self.budget.waiters.load(Ordering::Acquire) > 0 {
            self.budget.released.notify_waiters();
        }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        drop(self.share.take());
        self.holding.fetch_sub(self.amount, Ordering::Relaxed);
        self.notify_waiters();
    }
}

impl Allowance {
    pub(crate) fn new(budget: Arc<AnswerBudget>) -> Self {
        Self(Arc::new(Inner {
            budget,
            state: Mutex::new(State {
                payer: Payer::Anyone,
                is_known: false,
                address: None,
                expected: 0,
                covered: 0,
                reserved: None,
                is_overloaded: false,
            }),
            holding: Arc::default(),
            is_cut: AtomicBool::new(false),
            waker: Mutex::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    pub(crate) fn budget(&self) -> &AnswerBudget {
        &self.0.budget
    }

    /// Begins a request. Until a handler names a payer, it counts towards this address, or the earlier
    /// payer on this connection.
    pub(crate) fn begin(&self, address: Option<IpAddr>) {
        let mut state = self.state();
        state.address = address;
        if matches!(state.payer, Payer::Address(_) | Payer::Anyone) {
            state.payer = Payer::of(address);
        }
        (state.expected, state.reserved, state.is_overloaded) = (0, None, false);
        state.is_known = false;
    }

    /// Sets the most that the current operation may answer with.
    pub(crate) fn expects(&self, bytes: usize) {
        let mut state = self.state();
        state.expected = bytes.saturating_sub(state.covered);
    }

    /// A separate allowance for an inner request. What this request has reserved covers the inner one: if both reserved, requests
    /// that hold the whole share together would wait for each other.
    pub fn within(&self) -> Self {
        let inner = Self::new(self.0.budget.clone());
        let (payer, is_known, address, covered) = {
            let state = self.state();
            let reserved = state.reserved.as_ref().map_or(0, |share| share.amount);
            (state.payer.clone(), state.is_known, state.address, reserved.max(state.covered))
        };
        {
            let mut state = inner.state();
            (state.payer, state.is_known, state.address, state.covered) = (payer, is_known, address, covered);
        }
        inner
    }

    /// Returns what the request has reserved, because it waits for something else than the making of its answer. The answer
    /// counts once it is made.
    pub fn release(&self) {
        let reserved = {
            let mut state = self.state();
            state.expected = 0;
            state.reserved.take()
        };
        drop(reserved);
    }

    /// Notes whether an inner request was refused for want of memory, which may be the end of this one.
    pub(crate) fn note_refusal_of(&self, inner: &Self) {
        let is_overloaded = inner.state().is_overloaded;
        self.state().is_overloaded |= is_overloaded;
    }

    /// Counts the answer towards the caller's share. If the operation may have a large answer, its size
    /// is reserved first: the request waits a short while for it.
    ///
    /// # Errors
    /// 429 or 503 `overloaded` if the budget has no space for the answer.
    pub async fn admit(&self, asker: BudgetCaller<'_>) -> Result<(), Refusal> {
        let (payer, expected) = {
            let mut state = self.state();
            match (asker, &state.payer) {
                (BudgetCaller::Owner(name), Payer::Owner(known)) if **known == *name => {}
                (BudgetCaller::Owner(name), _) => state.payer = Payer::Owner(name.into()),
                (BudgetCaller::Operator, _) => state.payer = Payer::Operator,
                (BudgetCaller::Nobody, _) => state.payer = Payer::of(state.address),
            }
            state.is_known = asker != BudgetCaller::Nobody;
            if state.expected == 0 || state.reserved.is_some() {
                return Ok(());
            }
            (state.payer.clone(), state.expected)
        };
        let reserved = self.reserve(&payer, expected).await;
        let mut state = self.state();
        match reserved {
            Ok(share) => {
                state.reserved = Some(share);
                Ok(())
            }
            Err(full) => {
                state.is_overloaded = true;
                Err(overloaded(full))
            }
        }
    }

    /// A part of the budget of bodies. An earlier payer on the connection does not pay for a caller that is not known yet.
    pub(crate) fn take_body(&self, amount: usize) -> Result<Share<Payer>, SharesFull> {
        let payer = {
            let state = self.state();
            if state.is_known { state.payer.clone() } else { Payer::of(state.address) }
        };
        self.0.budget.bodies.take(payer, amount)
    }

    /// Notes that the request ends with this refusal, for want of memory.
    pub(crate) fn overload(&self, refusal: Refusal) -> Refusal {
        self.state().is_overloaded = true;
        refusal
    }

    async fn reserve(&self, payer: &Payer, bytes: usize) -> Result<BudgetShare, SharesFull> {
        if let Ok(share) = BudgetShare::take(&self.0, payer, bytes) {
            return Ok(share);
        }
        let budget = &self.0.budget;
        let _place = budget.waiting.take(payer.clone(), 1)?;
        let _waiter = Waiter::new(&budget.waiters);
        let until = Instant::now() + ANSWER_WAIT;
        loop {
            let mut released = std::pin::pin!(budget.released.notified());
            released.as_mut().enable();
            let full = match BudgetShare::take(&self.0, payer, bytes) {
                Ok(share) => return Ok(share),
                Err(full) => full,
            };
            budget.stalled.relieve((full == SharesFull::Key).then_some(payer));
            // A reader that stalls only now may be cut a little later.
            let next = (Instant::now() + STALLED_BEFORE_CUT).min(until);
            if timeout_at(next, released).await.is_err() && next == until {
                return Err(full);
            }
        }
    }

    /// Takes the budget for this answer; without space the answer becomes 503.
    pub(crate) fn settle(&self, response: &mut Response) -> Option<Arc<BudgetShare>> {
        let (reserved, payer, is_overloaded) = {
            let mut state = self.state();
            (state.reserved.take(), state.payer.clone(), std::mem::take(&mut state.is_overloaded))
        };
        let is_refused =
            matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if is_overloaded && is_refused {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if response.extensions().get::<SharedAnswer>().is_some() || is_event_stream(response) {
            return None;
        }
        let hint = response.body().size_hint();
        let needed = match hint.exact() {
            Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            None if reserved.is_some() => STREAMED_ANSWER_BYTES,
            None => return None,
        };
        if needed <= SMALL_ANSWER_BYTES_MAX {
            return None;
        }
        // Even a body of known length may be streamed; only this much of it is in memory at a time.
        if let Some(mut share) = reserved {
            share.shrink(needed);
            return Some(Arc::new(share));
        }
        match BudgetShare::take(&self.0, &payer, needed) {
            Ok(share) => Some(Arc::new(share)),
            Err(full) => {
                self.0.budget.stalled.relieve((full == SharesFull::Key).then_some(&payer));
                *response = crate::error::refusal_response(&overloaded(full));
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                None
            }
        }
    }

    /// The live stream's slot of its payer, if the answer begins a stream; without a free slot it
    /// becomes a refusal.
    pub(crate) fn stream(&self, response: &mut Response) -> Option<Share<Payer>> {
        if response.status() != StatusCode::SWITCHING_PROTOCOLS && !is_event_stream(response) {
            return None;
        }
        let payer = self.state().payer.clone();
        match self.0.budget.streams.take(payer, 1) {
            Ok(share) => Some(share),
            Err(full) => {
                let class = if full == SharesFull::Key { Class::TooMany } else { Class::Unavailable };
                let text = "Too many live streams are open. Close one, or try again later.";
                *response = crate::error::refusal_response(&Refusal::new(class, "too_many_streams", text));
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                None
            }
        }
    }

    /// A large piece of a stream, which holds its part of the budget; `None` if there is no space for
    /// it.
    pub(crate) fn piece(&self, bytes: Bytes, share: Option<&Arc<BudgetShare>>) -> Option<Bytes> {
        let share = match share {
            Some(share) if bytes.len() <= share.amount => share.clone(),
            _ => {
                let payer = self.state().payer.clone();
                match BudgetShare::take(&self.0, &payer, bytes.len()) {
                    Ok(share) => Arc::new(share),
                    Err(full) => {
                        self.0.budget.stalled.relieve((full == SharesFull::Key).then_some(&payer));
                        return None;
                    }
                }
            }
        };
        Some(Bytes::from_owner(BudgetedBytes { bytes, _share: share }))
    }

    /// Whether this connection holds budget, of this payer or of any.
    pub(crate) fn holds(&self, payer: Option<&Payer>) -> bool {
        self.0.holding.load(Ordering::Relaxed) > 0 && payer.is_none_or(|payer| self.state().payer == *payer)
    }

    /// Ends the connection, because others need its budget.
    pub(crate) fn cut(&self) {
        self.0.is_cut.store(true, Ordering::Release);
        let waker = self.0.waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.0.is_cut.load(Ordering::Acquire)
    }

    /// Sets the waker of the connection's task.
    pub(crate) fn wakes(&self, waker: &Waker) {
        *self.0.waker.lock() = Some(waker.clone());
    }
}

/// Counts as a waiting request.
struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn new(waiters: &'a AtomicUsize) -> Self {
        waiters.fetch_add(1, Ordering::AcqRel);
        Self(waiters)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn is_event_stream(response: &Response) -> bool {
    let is_marked = response.extensions().get::<LiveStream>().is_some();
    is_marked
        || response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

fn overloaded(full: SharesFull) -> Refusal {
    match full {
        SharesFull::Key => Refusal::new(
            Class::TooMany,
            "overloaded",
            "Your answers that are being made or are unread take up their memory. Read or close them, or send fewer \
             requests at a time, then try again.",
        ),
        SharesFull::Total => Refusal::new(
            Class::Unavailable,
            "overloaded",
            "The server has no memory for a large answer now. Try again in a moment.",
        ),
    }
}

#[cfg(test)]
mod tests;
