//! The storage use of an account: the additions of a batch, the limits, and the use as this process
//! knows it. The counters are in the store and change in the same transaction as the counted append, so
//! that no crash causes drift. The copy in memory only saves a read before each append.
//! Must not know: the meaning of an event.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use plenary_kernel::OwnerName;
use tokio::time::Instant;

use crate::{Fault, KeyClaim, NewEvent, Outcome, Reads};

/// Most accounts whose use is kept in memory. Beyond it, accounts without a pending append are dropped
/// and read from the store again.
const ACCOUNTS_KNOWN_MAX: usize = 65_536;
/// The maximal age of a known use on a store with several writers; it lacks what the others have written
/// in that time.
pub const USAGE_AGE_MAX: Duration = Duration::from_secs(1);

/// The beginning of the account of another network; no owner has such a name.
const OF_PEER: &str = "peer/";

/// The account of an owner. All owners of another network have one account, because that network names them: it would have
/// no limit if each had its own. The name decides alone, also for an owner of this network with such a name from an
/// earlier version.
pub fn account_of(owner: &OwnerName) -> String {
    match owner.of_peer() {
        Some((_, peer)) => account_of_peer(&peer),
        None => owner.to_string(),
    }
}

/// The account of another network, by its local name.
pub fn account_of_peer(peer: &OwnerName) -> String {
    format!("{OF_PEER}{peer}")
}

/// An amount of stored data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of events, and of blobs that belong to them.
    pub bytes: u64,
    /// Events.
    pub events: u64,
}

impl Usage {
    /// The use of one event: its envelope and its payload.
    pub fn of(event: &NewEvent) -> Self {
        Self::of_parts(&event.envelope, &event.payload)
    }
    /// The same from an event's parts.
    pub fn of_parts(envelope: &[u8], payload: &[u8]) -> Self {
        Self { bytes: (envelope.len() + payload.len()) as u64, events: 1 }
    }
    /// The use of an idempotency key. It is not an event.
    pub fn of_key(claim: &KeyClaim) -> Self {
        let KeyClaim { scope, key, digest, outcome } = claim;
        Self { bytes: (scope.len() + key.len() + digest.len() + outcome.len()) as u64, events: 0 }
    }
    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            events: self.events.saturating_add(other.events),
        }
    }
    fn minus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            events: self.events.saturating_sub(other.events),
        }
    }
}

/// The changes of an account's use by a batch, if it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The account.
    pub account: String,
    /// The added use.
    pub usage: Usage,
    /// The freed use, of removed data.
    pub freed: Usage,
}

impl Charge {
    /// A charge of an owner that only adds.
    pub fn of_owner(owner: &OwnerName, usage: Usage) -> Self {
        Self::of(account_of(owner), usage)
    }

    /// A charge that only adds.
    pub fn of(account: impl std::fmt::Display, usage: Usage) -> Self {
        Self { account: account.to_string(), usage, freed: Usage::default() }
    }
}

/// The net change of an account's use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// The change in bytes.
    pub bytes: i64,
    /// The change in events.
    pub events: i64,
}

impl Change {
    /// Adds a charge.
    pub fn plus(self, charge: &Charge) -> Self {
        let change =
            |now: i64, more: u64, less: u64| now.saturating_add_unsigned(more).saturating_sub_unsigned(less);
        Self {
            bytes: change(self.bytes, charge.usage.bytes, charge.freed.bytes),
            events: change(self.events, charge.usage.events, charge.freed.events),
        }
    }
    /// The use after this change; never below zero.
    pub fn applied(self, usage: Usage) -> Usage {
        Usage {
            bytes: usage.bytes.saturating_add_signed(self.bytes),
            events: usage.events.saturating_add_signed(self.events),
        }
    }
}

/// The limits of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageMax {
    /// Most bytes.
    pub bytes: u64,
    /// Most events.
    pub events: u64,
}

/// The least reserve of an account for operations that end or remove something; a tenth of its limits if that is more.
const RESERVE_MIN: UsageMax = UsageMax { bytes: 64 << 20, events: 100_000 };

impl UsageMax {
    /// The limits for operations that end or remove something.
    fn with_reserve(self) -> Self {
        let with = |max: u64, least: u64| max.saturating_add(least.max(max / 10));
        Self { bytes: with(self.bytes, RESERVE_MIN.bytes), events: with(self.events, RESERVE_MIN.events) }
    }
}

/// The limits of all accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountsMax {
    /// The limits of an owner.
    pub owner: UsageMax,
    /// The limits of another network.
    pub peer: UsageMax,
}

impl AccountsMax {
    /// The limits of an account.
    pub fn of(&self, account: &str) -> UsageMax {
        if account.starts_with(OF_PEER) { self.peer } else { self.owner }
    }
}

/// A rule of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaRule {
    /// The bytes of an owner.
    OwnerBytes,
    /// The events of an owner.
    OwnerEvents,
    /// The bytes of another network.
    PeerBytes,
    /// The events of another network.
    PeerEvents,
}

/// The limit that an account would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExceededQuota {
    /// Which one.
    pub rule: QuotaRule,
    /// The current use.
    pub used: u64,
    /// The limit.
    pub max: u64,
}

impl ExceededQuota {
    /// As a fault, for a command without a payer, which cannot exceed a quota.
    pub fn without_payer(self) -> Fault {
        Fault::Full(format!("a command that nobody pays for is over a quota: {self:?}"))
    }
}

/// The use of accounts as this process knows it.
#[derive(Debug, Default)]
pub struct Ledger {
    max: OnceLock<AccountsMax>,
    accounts: Mutex<HashMap<String, Arc<Account>>>,
}

#[derive(Debug, Default)]
struct Account(Mutex<CachedUsage>);

#[derive(Debug, Default)]
struct CachedUsage {
    /// The use as it was read, plus what this process has written since; `None` before the first read.
    written: Option<Usage>,
    /// The use of pending appends.
    under_way: Usage,
    /// The total that this process has ever added to `written`.
    added: Usage,
    /// Whether something may be counted twice, until the next read.
    is_doubtful: bool,
    /// When the store was last read, whether or not it has answered.
    read_at: Option<Instant>,
    /// Rises with every answer of the store.
    reading: u64,
}

/// A use that is counted in memory while its batch is pending.
#[derive(Debug)]
#[must_use = "what becomes of it must be said"]
pub struct Pledge {
    /// `None` without limits.
    account: Option<Arc<Account>>,
    usage: Usage,
    /// Whether the batch removes something: then the use is read from the store again.
    frees: bool,
    reading: u64,
    /// Whether the batch was written; `None` until it is answered.
    is_written: Option<bool>,
}

impl Ledger {
    /// Sets the limits, once. Without limits nothing is refused.
    pub fn limit(&self, max: AccountsMax) {
        let _ = self.max.set(max);
    }

    /// The limits of an account.
    pub fn max_of(&self, account: &str) -> Option<UsageMax> {
        self.max.get().map(|max| max.of(account))
    }

    /// The refusal of a content that is larger than the bytes that an account may still store; `None` without limits.
    pub fn exceeded(&self, account: &str, left: u64) -> Option<ExceededQuota> {
        let max = self.max_of(account)?.bytes;
        let (rule, _) = rules_of(account);
        Some(ExceededQuota { rule, used: max.saturating_sub(left), max })
    }

    /// See `Log::pledge`.
    pub(crate) async fn pledge(
        &self,
        reads: &dyn Reads,
        is_shared: bool,
        charge: &Charge,
        may_exceed: bool,
    ) -> Result<Result<Pledge, ExceededQuota>, Fault> {
        let usage = charge.usage;
        let Some(max) = self.max_of(&charge.account) else {
            return Ok(Ok(Pledge { account: None, usage, frees: false, reading: 0, is_written: None }));
        };
        let account = self.looked_up(reads, is_shared, &charge.account).await?;
        let mut known = account.0.lock();
        let max = if may_exceed { max.with_reserve() } else { max };
        if let Some(exceeded) = exceeded(&charge.account, known.used(), usage, max) {
            return Ok(Err(exceeded));
        }
        known.under_way = known.under_way.plus(usage);
        let reading = known.reading;
        drop(known);
        let frees = charge.freed != Usage::default();
        Ok(Ok(Pledge { account: Some(account), usage, frees, reading, is_written: None }))
    }

    /// See `Log::must_look_up`.
    pub(crate) fn must_look_up(&self, is_shared: bool, account: &str) -> bool {
        self.max.get().is_some() && {
            let account = self.accounts.lock().get(account).cloned();
            account.is_none_or(|account| account.0.lock().is_old(is_shared))
        }
    }

    /// See `Log::look_up`.
    pub(crate) async fn look_up(
        &self,
        reads: &dyn Reads,
        is_shared: bool,
        account: &str,
    ) -> Result<(), Fault> {
        self.looked_up(reads, is_shared, account).await.map(drop)
    }

    /// See `Log::bytes_left`.
    pub(crate) async fn bytes_left(
        &self,
        reads: &dyn Reads,
        is_shared: bool,
        account: &str,
    ) -> Result<Option<u64>, Fault> {
        let Some(max) = self.max_of(account) else { return Ok(None) };
        let account = self.looked_up(reads, is_shared, account).await?;
        let used = account.0.lock().used();
        Ok(Some(max.bytes.saturating_sub(used.bytes)))
    }

    /// An account whose use is known well enough. If many callers find it old, one reads the store, and
    /// the others continue with the old value.
    async fn looked_up(&self, reads: &dyn Reads, is_shared: bool, name: &str) -> Result<Arc<Account>, Fault> {
        let account = self.account(name);
        let added = account.0.lock().begin_look(is_shared);
        if let Some(added) = added {
            let read = reads.read_usage(name).await?;
            account.0.lock().learn(read, added);
        }
        Ok(account)
    }

    fn account(&self, name: &str) -> Arc<Account> {
        let mut accounts = self.accounts.lock();
        if let Some(account) = accounts.get(name) {
            return account.clone();
        }
        if accounts.len() >= ACCOUNTS_KNOWN_MAX {
            accounts.retain(|_, account| Arc::strong_count(account) > 1);
        }
        accounts.entry(name.to_owned()).or_default().clone()
    }
}

impl CachedUsage {
    /// The use including pending appends.
    fn used(&self) -> Usage {
        self.written.unwrap_or_default().plus(self.under_way)
    }

    /// Whether the store must be read.
    fn is_old(&self, is_shared: bool) -> bool {
        let is_past = |at: Instant| at.elapsed() >= USAGE_AGE_MAX;
        self.written.is_none() || (is_shared || self.is_doubtful) && self.read_at.is_none_or(is_past)
    }

    /// If the store must be read, notes that a read begins, and returns the total added so far.
    fn begin_look(&mut self, is_shared: bool) -> Option<Usage> {
        let is_old = self.is_old(is_shared);
        is_old.then(|| {
            self.read_at = Some(Instant::now());
            self.added
        })
    }

    /// Takes over an answer. What was added since the read began may be in it or not: it is counted, if
    /// in doubt twice.
    fn learn(&mut self, read: Usage, added_before: Usage) {
        let meanwhile = self.added.minus(added_before);
        self.written = Some(read.plus(meanwhile));
        self.is_doubtful = meanwhile != Usage::default();
        self.reading += 1;
    }
}

impl Pledge {
    /// Releases the pledge: its batch was not written.
    pub fn release(mut self) {
        self.is_written = Some(false);
    }

    /// Settles the pledge by the outcome of its batch.
    pub fn settle(mut self, outcome: &Result<Outcome, Fault>) {
        self.is_written = match outcome {
            Ok(Outcome::Appended(_)) => Some(true),
            Ok(
                Outcome::Conflict { .. }
                | Outcome::RowConflict { .. }
                | Outcome::AlreadyDone { .. }
                | Outcome::KeyReused,
            ) => Some(false),
            Err(_) => None,
        };
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        let Some(account) = &self.account else { return };
        let mut known = account.0.lock();
        known.under_way = known.under_way.minus(self.usage);
        if self.is_written == Some(false) {
            return;
        }
        known.added = known.added.plus(self.usage);
        known.written = known.written.map(|written| written.plus(self.usage));
        // An answer that arrived meanwhile may include this batch; and a batch without an outcome may
        // not be written.
        known.is_doubtful |= self.frees || self.is_written.is_none() || known.reading != self.reading;
    }
}

/// The rules of an account, for bytes and for events.
fn rules_of(account: &str) -> (QuotaRule, QuotaRule) {
    if account.starts_with(OF_PEER) {
        (QuotaRule::PeerBytes, QuotaRule::PeerEvents)
    } else {
        (QuotaRule::OwnerBytes, QuotaRule::OwnerEvents)
    }
}

/// The first limit that would be exceeded.
fn exceeded(account: &str, used: Usage, more: Usage, max: UsageMax) -> Option<ExceededQuota> {
    let (sum, (bytes, events)) = (used.plus(more), rules_of(account));
    if sum.bytes > max.bytes {
        Some(ExceededQuota { rule: bytes, used: used.bytes, max: max.bytes })
    } else if sum.events > max.events {
        Some(ExceededQuota { rule: events, used: used.events, max: max.events })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Position;

    use super::*;
    use crate::{AppendedRange, Batch, Log, OpenedLog, open_memory};

    const OWNER: UsageMax = UsageMax { bytes: 100, events: 10 };
    const MAX: AccountsMax = AccountsMax { owner: OWNER, peer: UsageMax { bytes: 50, events: 10 } };

    fn charge(bytes: u64) -> Charge {
        Charge::of("nick", Usage { bytes, events: 1 })
    }

    async fn written(log: &Log, bytes: u64) {
        let pledge = log.pledge(&charge(bytes), false).await.unwrap().unwrap();
        let outcome = log.append(Batch { charges: vec![charge(bytes)], ..Batch::default() }).await;
        assert!(matches!(outcome, Ok(Outcome::Appended(_))));
        pledge.settle(&outcome);
    }

    #[tokio::test]
    async fn a_bound_is_reached_and_not_passed() {
        let OpenedLog { log, feed: _feed } = open_memory();
        log.ledger().limit(MAX);
        written(&log, 60).await;
        let refused = log.pledge(&charge(41), false).await.unwrap();
        assert_eq!(refused.unwrap_err(), ExceededQuota { rule: QuotaRule::OwnerBytes, used: 60, max: 100 });
        written(&log, 40).await;
        assert_eq!(log.read_usage("nick").await.unwrap(), Usage { bytes: 100, events: 2 });
        for _ in 0..8 {
            written(&log, 0).await;
        }
        let refused = log.pledge(&charge(0), false).await.unwrap();
        assert_eq!(refused.unwrap_err(), ExceededQuota { rule: QuotaRule::OwnerEvents, used: 10, max: 10 });
        // What ends or removes something has a reserve beyond it.
        drop(log.pledge(&charge(1), true).await.unwrap().unwrap());
        let refused = log.pledge(&charge(RESERVE_MIN.bytes + 1), true).await.unwrap();
        let max = 100 + RESERVE_MIN.bytes;
        assert_eq!(refused.unwrap_err(), ExceededQuota { rule: QuotaRule::OwnerBytes, used: 101, max });
    }

    #[tokio::test]
    async fn the_owners_of_another_network_have_one_account_with_limits_of_its_own() {
        let name = |text: &str| text.parse::<OwnerName>().unwrap();
        assert_eq!(account_of(&name("nick")), "nick");
        assert_eq!(account_of(&name("at-rose")), "at-rose");
        let (ida, eve) = (account_of(&name("ida-at-rose")), account_of(&name("eve-at-rose")));
        assert!(ida == eve && ida == account_of_peer(&name("rose")) && ida.parse::<OwnerName>().is_err());
        let OpenedLog { log, feed: _feed } = open_memory();
        log.ledger().limit(MAX);
        let pledge = async |account: &str| {
            let charge = Charge::of(account, Usage { bytes: 30, events: 1 });
            log.pledge(&charge, false).await.unwrap()
        };
        let _first = pledge(&ida).await.unwrap();
        let refused = pledge(&eve).await.unwrap_err();
        assert_eq!(refused, ExceededQuota { rule: QuotaRule::PeerBytes, used: 30, max: 50 });
        let _others = (pledge("nick").await.unwrap(), pledge("nick").await.unwrap());
        assert_eq!(log.ledger().exceeded(&ida, 20), Some(refused));
    }

    #[tokio::test]
    async fn what_is_under_way_counts_and_what_was_refused_does_not() {
        let OpenedLog { log, feed: _feed } = open_memory();
        log.ledger().limit(MAX);
        let first = log.pledge(&charge(100), false).await.unwrap().unwrap();
        log.pledge(&charge(1), false).await.unwrap().unwrap_err();
        first.settle(&Ok(Outcome::KeyReused));
        let second = log.pledge(&charge(100), false).await.unwrap().unwrap();
        // It is unknown whether it was written: it counts until the store is read again.
        second.settle(&Err(Fault::OutcomeUnknown("test".to_owned())));
        log.pledge(&charge(1), false).await.unwrap().unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_write_is_seen_after_a_bounded_time() {
        let OpenedLog { log, feed: _feed } = open_memory();
        let (ledger, reads) = (Ledger::default(), log.reads());
        ledger.limit(MAX);
        let pledge = async |bytes| ledger.pledge(reads, true, &charge(bytes), false).await.unwrap();
        pledge(1).await.unwrap().settle(&Ok(Outcome::KeyReused));
        written(&log, 100).await;
        pledge(1).await.unwrap().settle(&Ok(Outcome::KeyReused));
        tokio::time::advance(USAGE_AGE_MAX).await;
        pledge(1).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_readers_of_an_old_usage_one_reads_the_store() {
        let mut known = CachedUsage::default();
        assert!(known.begin_look(true).is_some());
        assert!(known.begin_look(true).is_some(), "before the first answer nobody knows anything");
        known.learn(Usage::default(), Usage::default());
        assert!(!known.is_old(true));
        tokio::time::advance(USAGE_AGE_MAX).await;
        assert!(known.is_old(true));
        assert!(known.begin_look(true).is_some());
        assert!(!known.is_old(true), "the others go on with what was known");
        assert!(known.begin_look(true).is_none());
    }

    #[tokio::test]
    async fn an_account_with_something_under_way_is_not_forgotten() {
        let OpenedLog { log, feed: _feed } = open_memory();
        log.ledger().limit(MAX);
        let first = log.pledge(&charge(60), false).await.unwrap().unwrap();
        for nth in 0..ACCOUNTS_KNOWN_MAX {
            log.ledger().account(&nth.to_string());
        }
        log.pledge(&charge(60), false).await.unwrap().unwrap_err();
        drop(first);
    }

    #[tokio::test]
    async fn without_quotas_the_store_is_not_read() {
        let OpenedLog { log, feed: _feed } = open_memory();
        assert!(!log.must_look_up("nick"));
        written(&log, 60).await;
        log.ledger().limit(MAX);
        assert!(log.must_look_up("nick"));
        log.look_up("nick").await.unwrap();
        assert!(!log.must_look_up("nick"));
        log.pledge(&charge(60), false).await.unwrap().unwrap_err();
    }

    #[test]
    fn a_write_during_a_read_of_the_store_is_counted_at_least_once() {
        let account = Arc::new(Account::default());
        let (usage, appended) = (charge(10).usage, AppendedRange { first: Position(1), last: Position(1) });
        let pledge = |reading| Pledge {
            account: Some(account.clone()),
            usage,
            frees: false,
            reading,
            is_written: None,
        };
        let look = account.0.lock().begin_look(false).unwrap();
        pledge(0).settle(&Ok(Outcome::Appended(appended)));
        let late = pledge(0);
        account.0.lock().learn(Usage { bytes: 5, events: 1 }, look);
        assert_eq!(account.0.lock().written, Some(Usage { bytes: 15, events: 2 }));
        assert!(account.0.lock().is_doubtful);
        account.0.lock().is_doubtful = false;
        late.settle(&Ok(Outcome::Appended(appended)));
        assert!(account.0.lock().is_doubtful, "the answer may have had it");
    }
}
