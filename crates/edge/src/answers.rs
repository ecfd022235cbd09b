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
    config::{
        ANSWER_WAIT, ANSWERS_WAITING_MAX, ANSWERS_WAITING_PER_PAYER_MAX, Config, SMALL_ANSWER_BYTES_MAX,
        STALLED_BEFORE_CUT, STREAMED_ANSWER_BYTES,
    },
    stalled::StalledReaders,
};

/// Whose share of the budget an answer is on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    Owner(Arc<str>),
    Operator,
    Address(IpAddr),
    /// Nobody who is known: no token, and no address but the loopback's or a proxy's.
    Anyone,
}

impl Payer {
    fn of(address: Option<IpAddr>) -> Self {
        address.map_or(Self::Anyone, Self::Address)
    }
}

/// Who asks, as far as the budget of answers needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker<'a> {
    /// An owner, or an agent of it.
    Owner(&'a str),
    /// The operator.
    Operator,
    /// Somebody without a token.
    Nobody,
}

/// An answer whose body all requests share, so that it costs nobody anything: a response extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedAnswer;

/// The budget of the process.
pub(crate) struct AnswerBudget {
    shares: Shares<Payer>,
    waiting: Shares<Payer>,
    streams: Shares<Payer>,
    waiters: AtomicUsize,
    released: Notify,
    pub(crate) stalled: StalledReaders,
}

/// What one connection's answers may take. Handlers find it in the extensions of their request.
#[derive(Clone)]
pub struct Allowance(Arc<Inner>);

struct Inner {
    budget: Arc<AnswerBudget>,
    state: Mutex<State>,
    /// Bytes of answers that are held for this connection.
    holding: Arc<AtomicUsize>,
    is_cut: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

struct State {
    payer: Payer,
    /// Where the request under way came from.
    address: Option<IpAddr>,
    /// What the operation under way may need at most; nothing where its answers are small.
    expected: usize,
    reserved: Option<BudgetShare>,
    is_overloaded: bool,
}

/// A part of the budget, until it is dropped.
pub(crate) struct BudgetShare {
    /// Always there until the drop.
    share: Option<Share<Payer>>,
    amount: usize,
    budget: Arc<AnswerBudget>,
    holding: Arc<AtomicUsize>,
}

/// Bytes that hold their part of the budget for as long as anybody has some of them.
struct BudgetedBytes {
    bytes: Bytes,
    _held: Arc<BudgetShare>,
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
            waiters: AtomicUsize::new(0),
            released: Notify::new(),
            stalled: StalledReaders::new(config.stalled_max),
        })
    }
}

impl BudgetShare {
    fn take(of: &Inner, payer: &Payer, amount: usize) -> Result<Self, SharesFull> {
        let share = of.budget.shares.take(payer.clone(), amount)?;
        of.holding.fetch_add(amount, Ordering::Relaxed);
        let (budget, holding) = (of.budget.clone(), of.holding.clone());
        Ok(Self { share: Some(share), amount, budget, holding })
    }

    /// Gives back what is not needed.
    fn shrink(&mut self, amount: usize) {
        if amount < self.amount
            && let Some(share) = &mut self.share
        {
            share.shrink(amount);
            self.holding.fetch_sub(self.amount - amount, Ordering::Relaxed);
            self.amount = amount;
            self.tell();
        }
    }

    fn tell(&self) {
        if self.budget.waiters.load(Ordering::Acquire) > 0 {
            self.budget.released.notify_waiters();
        }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        drop(self.share.take());
        self.holding.fetch_sub(self.amount, Ordering::Relaxed);
        self.tell();
    }
}

impl Allowance {
    pub(crate) fn new(budget: Arc<AnswerBudget>) -> Self {
        Self(Arc::new(Inner {
            budget,
            state: Mutex::new(State {
                payer: Payer::Anyone,
                address: None,
                expected: 0,
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

    /// A request begins. Until a handler says more, it is on the share of this address, or of whoever asked before it on
    /// the connection.
    pub(crate) fn begin(&self, address: Option<IpAddr>) {
        let mut state = self.state();
        state.address = address;
        if matches!(state.payer, Payer::Address(_) | Payer::Anyone) {
            state.payer = Payer::of(address);
        }
        (state.expected, state.reserved, state.is_overloaded) = (0, None, false);
    }

    /// The operation under way may answer with as much as this.
    pub(crate) fn expects(&self, bytes: usize) {
        self.state().expected = bytes;
    }

    /// The allowance of a request within this one, which is answered by itself.
    #[must_use]
    pub fn within(&self) -> Self {
        let inner = Self::new(self.0.budget.clone());
        let (payer, address) = {
            let state = self.state();
            (state.payer.clone(), state.address)
        };
        {
            let mut state = inner.state();
            (state.payer, state.address) = (payer, address);
        }
        inner
    }

    /// Puts the answer on the share of whoever asks. Where the operation may answer with a lot, that much is reserved
    /// first: the request waits for it for a short while.
    ///
    /// # Errors
    /// 429 or 503 `overloaded` when there is no room for the answer.
    pub async fn admit(&self, asker: Asker<'_>) -> Result<(), Refusal> {
        let (payer, expected) = {
            let mut state = self.state();
            match (asker, &state.payer) {
                (Asker::Owner(name), Payer::Owner(known)) if **known == *name => {}
                (Asker::Owner(name), _) => state.payer = Payer::Owner(name.into()),
                (Asker::Operator, _) => state.payer = Payer::Operator,
                (Asker::Nobody, _) => state.payer = Payer::of(state.address),
            }
            if state.expected == 0 || state.reserved.is_some() {
                return Ok(());
            }
            (state.payer.clone(), state.expected)
        };
        let reserved = self.reserve(&payer, expected).await;
        let mut state = self.state();
        match reserved {
            Ok(held) => {
                state.reserved = Some(held);
                Ok(())
            }
            Err(full) => {
                state.is_overloaded = true;
                Err(overloaded(full))
            }
        }
    }

    async fn reserve(&self, payer: &Payer, bytes: usize) -> Result<BudgetShare, SharesFull> {
        if let Ok(held) = BudgetShare::take(&self.0, payer, bytes) {
            return Ok(held);
        }
        let budget = &self.0.budget;
        let _place = budget.waiting.take(payer.clone(), 1)?;
        let _waiter = Waiter::new(&budget.waiters);
        let until = Instant::now() + ANSWER_WAIT;
        loop {
            let mut released = std::pin::pin!(budget.released.notified());
            released.as_mut().enable();
            let full = match BudgetShare::take(&self.0, payer, bytes) {
                Ok(held) => return Ok(held),
                Err(full) => full,
            };
            budget.stalled.relieve((full == SharesFull::Key).then_some(payer));
            // A reader that stalls now may be cut a little later.
            let next = (Instant::now() + STALLED_BEFORE_CUT).min(until);
            if timeout_at(next, released).await.is_err() && next == until {
                return Err(full);
            }
        }
    }

    /// Takes the part of the budget that this answer needs; an answer for which there is no room becomes 503.
    pub(crate) fn settle(&self, response: &mut Response) -> Option<Arc<BudgetShare>> {
        let (reserved, payer, is_overloaded) = {
            let mut state = self.state();
            (state.reserved.take(), state.payer.clone(), std::mem::take(&mut state.is_overloaded))
        };
        if is_overloaded {
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
        // A body of known length may come in pieces too; only so much of it is in memory at a time.
        if let Some(mut held) = reserved {
            held.shrink(needed);
            return Some(Arc::new(held));
        }
        match BudgetShare::take(&self.0, &payer, needed) {
            Ok(held) => Some(Arc::new(held)),
            Err(full) => {
                self.0.budget.stalled.relieve((full == SharesFull::Key).then_some(&payer));
                *response = crate::error::refusal_response(&overloaded(full));
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                None
            }
        }
    }

    /// A live stream's place among those of its payer, where the answer begins one; without a place it becomes a refusal.
    pub(crate) fn stream(&self, response: &mut Response) -> Option<Share<Payer>> {
        if response.status() != StatusCode::SWITCHING_PROTOCOLS && !is_event_stream(response) {
            return None;
        }
        let payer = self.state().payer.clone();
        match self.0.budget.streams.take(payer, 1) {
            Ok(place) => Some(place),
            Err(full) => {
                let class = if full == SharesFull::Key { Class::TooMany } else { Class::Unavailable };
                let text = "Too many live streams are open. Close one, or try again later.";
                *response = crate::error::refusal_response(&Refusal::new(class, "too_many_streams", text));
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                None
            }
        }
    }

    /// A large piece of a stream, which takes its part of the budget along; `None` when there is no room for it.
    pub(crate) fn piece(&self, bytes: Bytes, held: Option<&Arc<BudgetShare>>) -> Option<Bytes> {
        let held = match held {
            Some(held) if bytes.len() <= held.amount => held.clone(),
            _ => {
                let payer = self.state().payer.clone();
                match BudgetShare::take(&self.0, &payer, bytes.len()) {
                    Ok(held) => Arc::new(held),
                    Err(full) => {
                        self.0.budget.stalled.relieve((full == SharesFull::Key).then_some(&payer));
                        return None;
                    }
                }
            }
        };
        Some(Bytes::from_owner(BudgetedBytes { bytes, _held: held }))
    }

    /// Whether anything is held for this connection on the share of this payer, or of any.
    pub(crate) fn holds(&self, payer: Option<&Payer>) -> bool {
        self.0.holding.load(Ordering::Relaxed) > 0 && payer.is_none_or(|payer| self.state().payer == *payer)
    }

    /// Ends the connection: others need the room.
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

    /// Remembers the task of the connection.
    pub(crate) fn wakes(&self, waker: &Waker) {
        *self.0.waker.lock() = Some(waker.clone());
    }
}

/// Counts as somebody who waits for room.
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
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

fn overloaded(full: SharesFull) -> Refusal {
    match full {
        SharesFull::Key => Refusal::new(
            Class::TooMany,
            "overloaded",
            "Too many bytes of your open answers are unread. Read or close them, then try again.",
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
