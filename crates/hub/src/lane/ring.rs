//! The recent messages of one key, and its readers.
//! Must not know: other keys.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::Instant;

use super::{
    Emission, LaneLimits, Matches,
    member::{Member, Members},
    senders::Charge,
};

/// How long a message with `forget_at` stays for subscriptions that existed when it was emitted.
const LIVE_FOR: Duration = Duration::from_secs(1);
/// The approximate overhead of an entry besides its message, in bytes.
pub const ENTRY_BYTES: usize = 128;

/// One key. Its members are locked before its entries.
pub(super) struct Ring<F, M> {
    members: RwLock<Members<F>>,
    entries: RwLock<Entries<F, M>>,
}

impl<F, M> Ring<F, M> {
    pub(super) fn new() -> Self {
        Self {
            members: RwLock::new(Members { list: Vec::new(), freed: false }),
            entries: RwLock::new(Entries::new()),
        }
    }
    pub(super) fn members(&self) -> RwLockReadGuard<'_, Members<F>> {
        self.members.read()
    }
    pub(super) fn members_mut(&self) -> RwLockWriteGuard<'_, Members<F>> {
        self.members.write()
    }
    pub(super) fn entries(&self) -> RwLockReadGuard<'_, Entries<F, M>> {
        self.entries.read()
    }
    /// Drops old messages, if there are any.
    pub(super) fn prune_if_old(&self, bytes: &AtomicUsize, now: Instant, limits: &LaneLimits) {
        let is_old = self.entries().rows.front().is_some_and(|oldest| oldest.at + limits.age_max <= now);
        if is_old {
            self.change(bytes, |entries| entries.prune(now, limits));
        }
    }
    /// Whether a current subscription still waits for the message at a offset.
    pub(super) fn awaits(&self, offset: u64) -> bool {
        let members = self.members();
        self.entries().is_awaited(offset, &members)
    }
    /// Drops the message at a offset, if it is still there. Subscriptions that wait for it learn that it
    /// is lost.
    pub(super) fn forget(&self, bytes: &AtomicUsize, offset: u64) {
        let members = self.members();
        self.change(bytes, |entries| entries.forget(offset, &members));
    }
    /// Changes the entries, and updates the sum over all rings.
    pub(super) fn change<T>(&self, bytes: &AtomicUsize, change: impl FnOnce(&mut Entries<F, M>) -> T) -> T {
        let mut entries = self.entries.write();
        let before = entries.bytes;
        let answer = change(&mut entries);
        let after = entries.bytes;
        if after >= before {
            bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
        answer
    }
}

/// A message in the ring.
pub(super) struct Entry<F, M> {
    number: u64,
    /// How many messages were emitted before it, over all keys.
    pub(super) order: u64,
    pub(super) at: Instant,
    /// Bytes that this ring alone holds for it.
    bytes: usize,
    /// Bytes that it shares with other rings.
    shared: usize,
    forget_at: Option<Instant>,
    /// The sender's account of the shared bytes, if the sender is not the key's own.
    charge: Option<Arc<Charge>>,
    /// `None` once it is forgotten.
    content: Option<(M, Matches<F>)>,
}

impl<F, M> Entry<F, M> {
    /// The number and the message, unless it is forgotten or does not match these facts. A subscription
    /// that began after the message was emitted does not get a message that must be forgotten by `now`.
    pub(super) fn message_for(&self, facts: &F, now: Instant, was_there: bool) -> Option<(u64, &M)> {
        let (_, matches) = self.content.as_ref()?;
        self.message(now, was_there).filter(|_| matches(facts))
    }
    /// The number and the message, unless it is forgotten.
    pub(super) fn message(&self, now: Instant, was_there: bool) -> Option<(u64, &M)> {
        let (message, _) = self.content.as_ref()?;
        let forgotten = !was_there && self.forget_at.is_some_and(|at| at <= now);
        (!forgotten).then_some((self.number, message))
    }
    /// Its bytes, shared or not.
    pub(super) fn size(&self) -> usize {
        self.bytes + self.shared
    }
    /// Drops the message but keeps its offset; returns the freed bytes, own and shared.
    fn forget(&mut self) -> (usize, usize) {
        (self.content, self.charge) = (None, None);
        let own = std::mem::replace(&mut self.bytes, ENTRY_BYTES) - ENTRY_BYTES;
        (own, std::mem::take(&mut self.shared))
    }
    /// When it must be dropped, if `forget_at` is set.
    fn forget_at(&self) -> Option<Instant> {
        self.forget_at.map(|at| at.max(self.at + LIVE_FOR))
    }
}

/// The messages of one key. Each has a offset, counted without gaps from 0 when the ring was made.
pub(super) struct Entries<F, M> {
    rows: VecDeque<Entry<F, M>>,
    /// The offset of the first row.
    first: u64,
    /// Bytes that this ring alone holds.
    pub(super) bytes: usize,
    /// Bytes that it shares with other rings.
    shared: usize,
    /// The offset after the last message that a limit dropped.
    lost: u64,
    /// The number of the newest message ever.
    last: Option<u64>,
    /// The offset from which numbers rise.
    rising_from: u64,
    /// No message after that offset with a number above this was dropped; what happened before it is not
    /// known.
    last_dropped: u64,
    /// The earliest time at which a message must be forgotten.
    forget_next: Option<Instant>,
}

impl<F, M> Entries<F, M> {
    fn new() -> Self {
        Self {
            rows: VecDeque::new(),
            first: 0,
            bytes: 0,
            shared: 0,
            lost: 0,
            last: None,
            rising_from: 0,
            last_dropped: 0,
            forget_next: None,
        }
    }

    /// The offset of the oldest message.
    pub(super) fn first(&self) -> u64 {
        self.first
    }
    /// The offset after the last lost message; a message that expired by its own `forget_at` is not lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
    /// The offset of the next message.
    pub(super) fn end(&self) -> u64 {
        self.first + self.rows.len() as u64
    }
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// The messages from a offset on.
    pub(super) fn from(&self, offset: u64) -> impl Iterator<Item = &Entry<F, M>> {
        let skip = usize::try_from(offset.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.rows.range(skip.min(self.rows.len())..)
    }
    /// The first offset, from `offset` on, whose message a new subscription gets; the end if there is
    /// none.
    pub(super) fn first_for(&self, facts: &F, offset: u64, now: Instant) -> u64 {
        let passed =
            self.from(offset).take_while(|entry| entry.message_for(facts, now, false).is_none()).count();
        offset.max(self.first) + passed as u64
    }
    /// The messages, oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Entry<F, M>> {
        self.rows.iter()
    }

    /// Adds a message; returns its offset.
    pub(super) fn push(
        &mut self,
        emission: Emission<F, M>,
        charge: Option<Arc<Charge>>,
        order: u64,
        now: Instant,
        limits: &LaneLimits,
        is_read: bool,
    ) -> u64 {
        self.prune(now, limits);
        let Emission { number, message, bytes, forget_at, matches } = emission;
        if self.last.is_none_or(|last| number <= last) {
            self.rising_from = self.end();
            self.last_dropped = number.saturating_sub(1);
        }
        self.last = Some(number);
        let (own, shared) = if charge.is_some() { (0, bytes) } else { (bytes, 0) };
        let bytes = own + ENTRY_BYTES;
        let content = Some((message, matches));
        let entry = Entry { number, order, at: now, bytes, shared, forget_at, charge, content };
        self.forget_next = entry.forget_at().into_iter().chain(self.forget_next).min();
        self.bytes += entry.bytes;
        self.shared += entry.shared;
        self.rows.push_back(entry);
        let most = if is_read { limits.backlog_max.max(limits.entries_max) } else { limits.entries_max };
        let is_over = |entries: &Self| entries.bytes + entries.shared > limits.key_bytes_max;
        while self.rows.len() > most.max(1) || (is_over(self) && self.rows.len() > 1) {
            self.drop_first();
        }
        self.end() - 1
    }

    /// Drops the messages beyond the limit that have been read: those before `read_until`.
    pub(super) fn trim(&mut self, read_until: u64, limits: &LaneLimits) {
        while self.rows.len() > limits.entries_max.max(1) && self.first < read_until {
            self.drop_first();
        }
    }

    /// The offset after the message with a number, if nothing after it was dropped or is beyond the
    /// limit; otherwise the end.
    pub(super) fn after(&self, number: u64, limits: &LaneLimits) -> u64 {
        if number < self.last_dropped || self.last.is_none_or(|last| number >= last) {
            return self.end();
        }
        let start = self.rising_from.max(self.first);
        let before = self.from(start).take_while(|entry| entry.number <= number).count();
        let offset = start + before as u64;
        if self.end() - offset > limits.entries_max as u64 { self.end() } else { offset }
    }

    /// The lowest number from which [`Entries::after`] continues without a gap.
    pub(super) fn reaches_back_to(&self, limits: &LaneLimits) -> u64 {
        let start = self.rising_from.max(self.first);
        let bound = self.end().saturating_sub(limits.entries_max as u64);
        let before = bound.checked_sub(1).filter(|_| bound > start);
        let before = before.and_then(|offset| self.from(offset).next());
        before.map_or(self.last_dropped, |entry| entry.number.max(self.last_dropped))
    }

    /// Drops messages that are too old, and those whose `forget_at` is due.
    pub(super) fn prune(&mut self, now: Instant, limits: &LaneLimits) {
        while self.rows.front().is_some_and(|entry| entry.at + limits.age_max <= now) {
            self.drop_first();
        }
        if self.forget_next.is_none_or(|next| next > now) {
            return;
        }
        let mut next = None::<Instant>;
        for entry in &mut self.rows {
            let Some(at) = entry.forget_at() else { continue };
            if at > now {
                next = Some(next.map_or(at, |next| next.min(at)));
            } else {
                let (own, shared) = entry.forget();
                self.bytes -= own;
                self.shared -= shared;
            }
        }
        self.forget_next = next;
        self.drop_forgotten();
    }

    fn nth(&self, offset: u64) -> Option<usize> {
        usize::try_from(offset.checked_sub(self.first)?).ok()
    }

    fn is_awaited(&self, offset: u64, members: &Members<F>) -> bool {
        let entry = self.nth(offset).and_then(|nth| self.rows.get(nth));
        let Some((_, matches)) = entry.and_then(|entry| entry.content.as_ref()) else { return false };
        let waits = |member: &Member<F>| member.waiting().is_some_and(|first| first <= offset);
        members.list.iter().any(|member| waits(member) && matches(&member.facts))
    }

    /// Drops the message at a offset because of a limit, if it is still there.
    fn forget(&mut self, offset: u64, members: &Members<F>) {
        let is_awaited = self.is_awaited(offset, members);
        let Some(entry) = self.nth(offset).and_then(|nth| self.rows.get_mut(nth)) else { return };
        if entry.content.is_none() {
            return;
        }
        let number = entry.number;
        let (own, shared) = entry.forget();
        self.bytes -= own;
        self.shared -= shared;
        if is_awaited {
            self.lost = self.lost.max(offset + 1);
        }
        self.note_dropped(offset, number);
        self.drop_forgotten();
    }

    /// Notes that a limit dropped a message: no client can resume across it.
    fn note_dropped(&mut self, offset: u64, number: u64) {
        if offset >= self.rising_from {
            self.last_dropped = self.last_dropped.max(number);
        }
    }

    fn drop_forgotten(&mut self) {
        while self.rows.front().is_some_and(|entry| entry.content.is_none()) {
            self.drop_first();
        }
    }

    /// Drops the oldest messages until at most that many bytes are left.
    pub(super) fn drop_to(&mut self, bytes: usize) {
        while self.bytes > bytes && !self.rows.is_empty() {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        let Some(entry) = self.rows.pop_front() else { return };
        self.bytes -= entry.bytes;
        self.shared -= entry.shared;
        self.first += 1;
        // A message that expired by its own `forget_at` leaves no gap.
        if entry.content.is_some() {
            self.lost = self.lost.max(self.first);
            self.note_dropped(self.first - 1, entry.number);
        }
    }
}
