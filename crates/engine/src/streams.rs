//! The streams of one room: their states in memory, and commands on them.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use plenary_kernel::{Clock, Position, Stamp, Version};
use plenary_log::{
    Batch, Chain, Condition, ExceededQuota, Fault, Log, Outcome, PageSize, Slot, StoredEvent, StreamName,
};
use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::{Instant, timeout},
};

use crate::{
    ATTEMPTS_MAX, Command, ExecuteError, Executed, KeyUse, Point, Room, SNAPSHOT_EVERY, STATES_CACHED_MAX,
    Sealed, batch,
    entry::{Entry, LoadedState, LookedUp},
    once, quota,
    refusal_check::refused,
    seal, snapshot,
};

/// The streams of one room.
pub struct Streams<R: Room> {
    log: Log,
    clock: Arc<dyn Clock>,
    /// By the id of the stream.
    pub(crate) cache: Cache<Arc<str>, Arc<Entry<R::State>>>,
    /// Until when readers do not wait for writes, because the log does not write.
    stalled_until: parking_lot::Mutex<Option<Instant>>,
}

/// Streams that are loaded with one read.
const LOADED_TOGETHER_MAX: usize = 64;
/// A stream of as many events is not short.
const SHORT_EVENTS_MAX: usize = 64;

/// How long a reader waits for writes in progress; then it reads the stream as it is on disk.
const WRITES_MAX: Duration = Duration::from_secs(1);
/// How long readers do not wait for a log that has failed to write.
const STALLED: Duration = Duration::from_secs(2);

/// How often a lock is tried before the task waits for it.
const SPINS: usize = 32;

type Guard<'a, R> = MutexGuard<'a, Option<LoadedState<<R as Room>::State>>>;

/// The result of one attempt.
enum Attempt<T, J> {
    Done(Executed<T>),
    Error(ExecuteError<J>),
    Again,
}

/// The result of one attempt, without the types of the command.
pub(crate) enum Ended {
    /// The decision or refusal is final, with the position of the last written event.
    Stands(Option<Position>),
    /// The key has this answer.
    Earlier(Bytes),
    KeyReused,
    OverQuota(ExceededQuota),
    Again,
}

/// Combines the end of an attempt with the decision of its command.
fn attempted<T: DeserializeOwned, J>(ended: Ended, decided: Result<T, J>) -> Result<Attempt<T, J>, Fault> {
    Ok(match (ended, decided) {
        (Ended::Stands(position), Ok(reply)) => Attempt::Done(Executed { reply, replayed: false, position }),
        (Ended::Stands(_), Err(rejection)) => Attempt::Error(ExecuteError::Rejected(rejection)),
        (Ended::Earlier(outcome), _) => Attempt::Done(replayed(&outcome)?),
        (Ended::KeyReused, _) => Attempt::Error(ExecuteError::KeyReused),
        (Ended::OverQuota(exceeded), _) => Attempt::Error(ExecuteError::OverQuota(exceeded)),
        (Ended::Again, _) => Attempt::Again,
    })
}

impl<R: Room> Streams<R> {
    /// The room's streams in a log.
    pub fn new(log: Log, clock: Arc<dyn Clock>) -> Self {
        Self {
            log,
            clock,
            cache: Cache::new(STATES_CACHED_MAX),
            stalled_until: parking_lot::Mutex::default(),
        }
    }

    /// The log of the streams.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The clock that stamps commands.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The state of a stream and its version: at least everything this process has committed. The empty state
    /// at version 0 when the stream does not exist.
    pub async fn state(&self, id: &str) -> Result<(Arc<R::State>, Version), Fault> {
        let LookedUp { state, version, .. } = self.look_up(id).await?;
        Ok((state, version))
    }

    /// The state of a stream with the chain for conditions of other streams, and whether the store was read.
    pub async fn look_up(&self, id: &str) -> Result<LookedUp<R::State>, Fault> {
        let entry = self.entry(id);
        let mut guard = entry.loaded.lock().await;
        let was_read = must_load(&entry, guard.as_ref());
        let loaded = self.load(&entry, &mut guard).await?;
        let upon = loaded.is_ahead().then(|| loaded.chain.clone());
        Ok(LookedUp { state: loaded.state.clone(), version: loaded.version, upon, was_read })
    }

    /// Makes the same reads as for a stream that does not exist, and drops the result: so that the response time does not
    /// reveal whether the stream exists. It reads the stream of an id that nothing has, since the store may have the events
    /// of an existing one in memory, or its snapshot.
    pub async fn imitate_load(&self, id: &str) -> Result<(), Fault> {
        let stream = R::stream(&format!("{id} "));
        if !R::MOSTLY_SHORT {
            snapshot::load::<R>(&self.log, &stream).await?;
        }
        self.log.read_stream(&stream, Version::ZERO, PageSize::default().events()).await?;
        Ok(())
    }

    /// The state for readers: it includes only events on disk, and on a store with several processes
    /// also everything that the others have committed.
    pub async fn fresh(&self, id: &str) -> Result<(Arc<R::State>, Version), Fault> {
        if self.log.shared() {
            let entry = self.entry(id);
            let known = entry.loaded.lock().await.as_ref().map(|loaded| loaded.version);
            if let Some(known) = known {
                // Events that this process has written meanwhile are not news.
                self.log
                    .read_stream(&entry.stream, known, 1)
                    .await?
                    .iter()
                    .for_each(|event| entry.observe(event.version));
            }
        }
        self.on_disk(id).await
    }

    /// The state after everything that it was decided on is written. Unwritten events are not in it. While the log
    /// does not write, it is the state on disk.
    async fn on_disk(&self, id: &str) -> Result<(Arc<R::State>, Version), Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let entry = self.entry(id);
            let mut guard = entry.loaded.lock().await;
            let loaded = self.load(&entry, &mut guard).await?;
            let (state, version, chain) = (loaded.state.clone(), loaded.version, loaded.chain.clone());
            if !loaded.is_ahead() {
                return Ok((state, version));
            }
            let confirmed = loaded.confirmed.clone();
            drop(guard);
            match self.written(chain).await {
                Some(Outcome::Appended(_)) => {
                    confirmed.fetch_max(version.0, Ordering::AcqRel);
                    return Ok((state, version));
                }
                // Another process was first.
                Some(_) => {}
                None => {
                    let stored = self.begun(&entry.stream).await?;
                    return Ok((stored.state, stored.version));
                }
            }
        }
        Err(Fault::Overloaded)
    }

    /// Waits until the batches of a chain are written or refused; `None` if the log does not write.
    async fn written(&self, chain: Chain) -> Option<Outcome> {
        if self.stalled_until.lock().is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let last = self.log.append(Batch { chain: Some(chain), ..Batch::default() });
        let outcome = timeout(WRITES_MAX, last).await.ok().and_then(Result::ok);
        if outcome.is_none() {
            *self.stalled_until.lock() = Some(Instant::now() + STALLED);
        }
        outcome
    }

    /// The state, which may be ahead of the disk, and the newest version that was observed, or was on
    /// disk when the state was loaded. Later events will be observed, so a reader up to this version
    /// need not read the store for events that are just being dispatched.
    pub async fn observed(&self, id: &str) -> Result<(Arc<R::State>, Version), Fault> {
        let entry = self.entry(id);
        // Many readers call this at once, and the lock is never held for long.
        let mut guard = match spin(&entry.loaded) {
            Some(guard) => guard,
            None => entry.loaded.lock().await,
        };
        let state = self.load(&entry, &mut guard).await?.state.clone();
        Ok((state, entry.observed()))
    }

    /// Notes a committed event. An event of another process is folded into the state in memory if it is
    /// the next one, which saves a read of the store; otherwise it makes the state stale.
    pub fn observe(&self, event: &StoredEvent) {
        let Some(entry) = self.cache.peek(event.stream.id()) else { return };
        if event.version > entry.ahead()
            && let Some(mut guard) = spin(&entry.loaded)
            && let Some(loaded) = guard.as_mut()
            && is_sound(loaded)
            && event.version == loaded.version.next()
            && fold_in::<R>(loaded, event).is_ok()
        {
            loaded.confirm(event.version);
            entry.mark_ahead(event.version);
        }
        entry.observe(event.version);
    }

    /// Carries out a command on the stream `id`. Without `key` it uses the key derived from the current
    /// request, if that has one.
    pub async fn execute<C: Command<R>>(
        &self,
        id: &str,
        command: &C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<C::Rejection>> {
        let of_request = if key.is_none() { once::step::<R, C>() } else { None };
        self.carry_out(id, command, key.or(of_request.as_ref())).await
    }

    pub(crate) async fn carry_out<C: Command<R>>(
        &self,
        id: &str,
        command: &C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<C::Rejection>> {
        for attempt in 0..ATTEMPTS_MAX {
            match self.attempt(id, command, key).await? {
                Attempt::Done(done) => return Ok(done),
                Attempt::Error(error) => return Err(error),
                Attempt::Again => back_off(attempt).await,
            }
        }
        Err(Fault::Overloaded.into())
    }

    async fn attempt<C: Command<R>>(
        &self,
        id: &str,
        command: &C,
        key: Option<&KeyUse>,
    ) -> Result<Attempt<C::Reply, C::Rejection>, Fault> {
        let slot = self.log.reserve().await?;
        let entry = self.entry(id);
        let mut guard = entry.loaded.lock().await;
        let loaded = self.load(&entry, &mut guard).await?;
        let mut conditions = Vec::new();
        let facts = command.facts(&loaded.state, &mut conditions).await?;
        conditions.push(Condition::at(entry.stream.clone(), loaded.version));
        let chain = loaded.chain.clone();
        let point = Point { version: loaded.version, stamp: self.clock.stamp() };

        let decision = match command.decide(&loaded.state, &facts, &point) {
            Ok(decision) => decision,
            Err(rejection) => {
                let ahead = loaded.is_ahead();
                drop(guard);
                let ended = refused(&self.log, slot, (conditions, chain), ahead, key).await?;
                return attempted(ended, Err(rejection));
            }
        };
        let Point { version, stamp } = &point;
        let decided = batch::decided(command, key, &decision, stamp)?;
        let batch = batch::of::<R>((id, *version), (&entry.stream, &loaded.state), decided, stamp);
        let batch = Batch { chain: Some(chain), conditions, ..batch };
        let (may_exceed, decided) = (command.exceeds_quota(), (&*decision.events, stamp));
        let ended = self.submit((slot, &entry, guard), (batch, may_exceed), decided, key).await?;
        attempted(ended, Ok(decision.reply))
    }

    /// Appends a decision on a locked state, which evolves with it. Compiled once for all commands of a
    /// room.
    async fn submit(
        &self,
        (slot, entry, mut guard): (Slot, &Entry<R::State>, Guard<'_, R>),
        (batch, may_exceed): (Batch, bool),
        (events, stamp): (&[R::Event], &Stamp),
        key: Option<&KeyUse>,
    ) -> Result<Ended, Fault> {
        if quota::must_look_up(&self.log, &batch) {
            drop((guard, slot));
            quota::look_up(&self.log, &batch).await?;
            return Ok(Ended::Again);
        }
        let loaded = guard.as_mut().ok_or_else(missing_state)?;
        let pledged = match quota::pledge(&self.log, &batch, may_exceed).await? {
            Ok(pledged) => pledged,
            Err(exceeded) => {
                let seen = (batch.conditions, loaded.chain.clone());
                let ahead = loaded.is_ahead();
                drop(guard);
                return Ok(match refused(&self.log, slot, seen, ahead, key).await? {
                    Ended::Stands(_) => Ended::OverQuota(exceeded),
                    ended @ (Ended::Earlier(_) | Ended::KeyReused | Ended::OverQuota(_) | Ended::Again) => {
                        ended
                    }
                });
            }
        };
        let snapshot = evolve::<R>(loaded, events, stamp);
        let (version, confirmed) = (loaded.version, loaded.confirmed.clone());
        entry.mark_ahead(version);
        let writes = !batch.events.is_empty();
        let pending = slot.submit(batch);
        drop(guard);

        match pledged.settle(pending.await)? {
            Outcome::Appended(appended) => {
                confirmed.fetch_max(version.0, Ordering::AcqRel);
                if let Some(state) = snapshot {
                    snapshot::keep::<R>(&self.log, &entry.stream, state, version);
                }
                Ok(Ended::Stands(writes.then_some(appended.last)))
            }
            Outcome::AlreadyDone { outcome } => Ok(Ended::Earlier(outcome)),
            Outcome::KeyReused => Ok(Ended::KeyReused),
            Outcome::Conflict { .. } | Outcome::RowConflict { .. } => Ok(Ended::Again),
        }
    }

    pub(crate) fn entry(&self, id: &str) -> Arc<Entry<R::State>> {
        if let Some(entry) = self.cache.get(id) {
            return entry;
        }
        let inserted: Result<_, std::convert::Infallible> =
            self.cache.get_or_insert_with(&Arc::from(id), || Ok(Entry::new(R::stream(id))));
        let Ok(entry) = inserted;
        entry
    }

    /// The locked state, loaded if it is absent or stale.
    async fn load<'g>(
        &self,
        entry: &Entry<R::State>,
        guard: &'g mut Guard<'_, R>,
    ) -> Result<&'g mut LoadedState<R::State>, Fault> {
        if must_load(entry, guard.as_ref()) {
            **guard = Some(self.loaded(entry, guard.take()).await?);
        }
        guard.as_mut().ok_or_else(missing_state)
    }

    /// Loads the current state of the store, in place of the one in memory.
    fn loaded<'a>(
        &'a self,
        entry: &'a Entry<R::State>,
        had: Option<LoadedState<R::State>>,
    ) -> Sealed<'a, Result<LoadedState<R::State>, Fault>> {
        seal(async move {
            // A state that is fully on disk is continued; one that ran ahead is restarted.
            let ran_ahead = had.as_ref().is_some_and(|loaded| !is_sound(loaded));
            let newest = entry.observed();
            let from =
                had.and_then(|had| if ran_ahead { had.again(&entry.stream, newest) } else { Some(had) });
            let mut fold = match from {
                Some(loaded) => self.fold(&entry.stream, loaded, PageSize::default()).await?,
                None => self.begun(&entry.stream).await?,
            };
            fold.confirm(fold.version);
            if ran_ahead {
                fold.keep_base();
            }
            entry.observe(fold.version);
            entry.mark_ahead(fold.version);
            Ok(fold)
        })
    }

    /// Loads the states of short streams that are not in memory, with one read for many of them. The others are loaded when
    /// they are needed, and so are all of a store with several processes.
    pub async fn load_short(&self, ids: &[&str]) {
        // One half is decoded while the store reads the other.
        let (first, second) = ids.split_at(ids.len() / 2);
        tokio::join!(self.load_in_turn(first), self.load_in_turn(second));
    }

    async fn load_in_turn(&self, ids: &[&str]) {
        for some in ids.chunks(LOADED_TOGETHER_MAX) {
            self.begin_short(some).await;
        }
    }

    /// Does the same for a few streams, with a single read, and returns their events.
    pub async fn begin_short(&self, ids: &[&str]) -> HashMap<StreamName, Vec<StoredEvent>> {
        let mut begun = HashMap::new();
        if self.log.shared() {
            return begun;
        }
        let entries: Vec<_> = ids.iter().map(|id| self.entry(id)).collect();
        // A task that holds a state loads it. While locks are held, nothing but the store is waited for.
        let absent = entries.iter().filter_map(|entry| {
            let guard = entry.loaded.try_lock().ok()?;
            guard.is_none().then_some((entry, guard))
        });
        let mut absent: Vec<_> = absent.collect();
        if absent.is_empty() {
            return begun;
        }
        let streams: Vec<_> = absent.iter().map(|(entry, _)| (entry.stream.clone(), Version::ZERO)).collect();
        // A failure is reported by the load when the state is needed.
        let found = self.log.read_streams(&streams, SHORT_EVENTS_MAX).await.unwrap_or_default();
        for ((entry, guard), events) in absent.iter_mut().zip(found) {
            let Some(events) = events.filter(|events| events.len() < SHORT_EVENTS_MAX) else { continue };
            let mut loaded = LoadedState::on_disk(&entry.stream, R::State::default(), Version::ZERO);
            if events.iter().all(|event| fold_in::<R>(&mut loaded, event).is_ok()) {
                loaded.confirm(loaded.version);
                entry.observe(loaded.version);
                entry.mark_ahead(loaded.version);
                **guard = Some(loaded);
                begun.insert(entry.stream.clone(), events);
            }
        }
        begun
    }

    /// Loads a state without one in memory.
    async fn begun(&self, stream: &StreamName) -> Result<LoadedState<R::State>, Fault> {
        let mut begun = LoadedState::on_disk(stream, R::State::default(), Version::ZERO);
        let mut page = PageSize::default();
        let read =
            if R::MOSTLY_SHORT { self.fold_page(stream, &mut begun, &mut page).await } else { Ok(false) };
        if let Ok(true) = read {
            return Ok(begun);
        }
        // A snapshot also stands in for damaged events.
        if let Some((state, version)) = snapshot::load::<R>(&self.log, stream).await? {
            let snapshot = LoadedState::on_disk(stream, state, version);
            return self.fold(stream, snapshot, PageSize::default()).await;
        }
        read?;
        self.fold(stream, begun, page).await
    }

    /// Folds the events of the stream after a state.
    async fn fold(
        &self,
        stream: &StreamName,
        mut loaded: LoadedState<R::State>,
        mut page: PageSize,
    ) -> Result<LoadedState<R::State>, Fault> {
        while !self.fold_page(stream, &mut loaded, &mut page).await? {}
        if loaded.version.0 - loaded.snapshot.0 >= SNAPSHOT_EVERY {
            snapshot::keep::<R>(&self.log, stream, loaded.state.clone(), loaded.version);
            loaded.snapshot = loaded.version;
        }
        Ok(loaded)
    }

    /// Folds the next page of the stream after a state. Returns whether it is the last one.
    async fn fold_page(
        &self,
        stream: &StreamName,
        loaded: &mut LoadedState<R::State>,
        page: &mut PageSize,
    ) -> Result<bool, Fault> {
        let limit = page.events();
        let events = self.log.read_stream(stream, loaded.version, limit).await?;
        page.learn(&events);
        for stored in &events {
            fold_in::<R>(loaded, stored)?;
        }
        Ok(events.len() < limit)
    }
}

/// The lock, if it becomes free within a few tries: it is never held for long.
fn spin<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    (0..SPINS).find_map(|_| lock.try_lock().ok())
}

/// An impossible fault.
fn missing_state() -> Fault {
    Fault::Corrupt("a state that was just loaded is gone".into())
}

/// Whether the whole state is known to be on disk.
fn is_sound<S>(loaded: &LoadedState<S>) -> bool {
    !loaded.chain.is_broken() && !loaded.is_ahead()
}

/// Folds the next event of the stream.
fn fold_in<R: Room>(loaded: &mut LoadedState<R::State>, stored: &StoredEvent) -> Result<(), Fault> {
    let event = R::decode(stored)?;
    if R::folds(&event) {
        R::evolve(Arc::make_mut(&mut loaded.state), stored.version, stored.at, &event);
    }
    loaded.version = stored.version;
    Ok(())
}

/// Whether a state is absent or stale.
fn must_load<S>(entry: &Entry<S>, loaded: Option<&LoadedState<S>>) -> bool {
    entry.is_stale() || loaded.is_none_or(|loaded| loaded.chain.is_broken())
}

/// Folds the decided events in place; returns the state if a snapshot of it is due.
pub(crate) fn evolve<R: Room>(
    loaded: &mut LoadedState<R::State>,
    events: &[R::Event],
    stamp: &Stamp,
) -> Option<Arc<R::State>> {
    for event in events {
        loaded.version = loaded.version.next();
        if R::folds(event) {
            R::evolve(Arc::make_mut(&mut loaded.state), loaded.version, stamp.now, event);
        }
    }
    if loaded.version.0 - loaded.snapshot.0 < SNAPSHOT_EVERY {
        return None;
    }
    loaded.snapshot = loaded.version;
    Some(loaded.state.clone())
}

pub(crate) fn replayed<T: DeserializeOwned>(outcome: &[u8]) -> Result<Executed<T>, Fault> {
    let reply = serde_json::from_slice(outcome)
        .map_err(|error| Fault::Corrupt(format!("a kept answer can't be read: {error}")))?;
    Ok(Executed { reply, replayed: true, position: None::<Position> })
}

/// The first retries are immediate, because a store may keep the turn for them. Later, every second
/// retry waits a random time to let other writers through, so that writers that lost together don't
/// return together.
async fn back_off(attempt: usize) {
    if attempt >= 2 && attempt.is_multiple_of(2) {
        let most_us = 1_000_u64 << attempt.min(5);
        // Without randomness it waits the whole time.
        let us = getrandom::u64().map_or(most_us, |random| random % most_us);
        tokio::time::sleep(Duration::from_micros(us)).await;
    }
}
