//! A command that usually begins its stream: decided on the empty state without reading the store. Its effects stay
//! invisible until the append, whose condition is that no such stream exists, has succeeded.
//! Must not know: the decision.

use plenary_kernel::{Stamp, Version};
use plenary_log::{Batch, Condition, Outcome};

use crate::{
    Command, ExecuteError, Executed, KeyUse, Point, Room, Streams, batch,
    entry::{Entry, LoadedState},
    once, quota, snapshot,
    streams::{evolve, replayed},
};

impl<R: Room> Streams<R> {
    /// Carries out a command on the stream `id` with the same result as [`Streams::execute`], but
    /// without reading the store first if nothing of the stream is in memory: for commands on ids that
    /// are usually new. If the stream exists after all, one append fails before the stream is read.
    pub async fn begin<C: Command<R>>(
        &self,
        id: &str,
        command: &C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<C::Rejection>> {
        let of_request = if key.is_none() { once::step::<R, C>() } else { None };
        let key = key.or(of_request.as_ref());
        if self.is_unknown(id)
            && let Some(done) = self.try_begin(id, command, key).await?
        {
            return Ok(done);
        }
        self.carry_out(id, command, key).await
    }

    /// Whether nothing of a stream is in memory, and no task is about to read it.
    fn is_unknown(&self, id: &str) -> bool {
        let is_empty = |entry: &Entry<R::State>| entry.loaded.try_lock().is_ok_and(|loaded| loaded.is_none());
        self.cache.peek(id).is_none_or(|entry| is_empty(&entry))
    }

    /// Carries it out if the stream is new. `None` if the stream exists, or if the result would rest on
    /// that assumption alone.
    async fn try_begin<C: Command<R>>(
        &self,
        id: &str,
        command: &C,
        key: Option<&KeyUse>,
    ) -> Result<Option<Executed<C::Reply>>, ExecuteError<C::Rejection>> {
        let slot = self.log().reserve().await?;
        // Created before the append, so that every event of the stream is observed from then on.
        let entry = self.entry(id);
        let state = R::State::default();
        let mut conditions = Vec::new();
        let facts = command.facts(&state, &mut conditions).await?;
        conditions.push(Condition::at(entry.stream.clone(), Version::ZERO));
        let point = Point { version: Version::ZERO, stamp: self.clock().stamp() };
        let stamp = point.stamp;
        // Without an append, no condition would verify the basis of a refusal.
        let Ok(decision) = command.decide(&state, &facts, &point) else { return Ok(None) };
        let target = (id, Version::ZERO);
        let decided = batch::decided(command, key, &decision, &stamp)?;
        let batch = batch::of::<R>(target, (&entry.stream, &state), decided, &stamp);
        let slot = if quota::must_look_up(self.log(), &batch) {
            drop(slot);
            quota::look_up(self.log(), &batch).await?;
            self.log().reserve().await?
        } else {
            slot
        };
        // A refusal assumes a new stream and an unused key: `None` makes the caller decide again with
        // both looked up.
        let Ok(pledged) = quota::pledge(self.log(), &batch, command.exceeds_quota()).await? else {
            return Ok(None);
        };
        let batch = Batch { conditions, ..batch };
        let writes = !batch.events.is_empty();
        match pledged.settle(slot.submit(batch).await)? {
            Outcome::Appended(appended) => {
                if !decision.events.is_empty() {
                    self.keep(&entry, state, &decision.events, &stamp);
                }
                let position = writes.then_some(appended.last);
                Ok(Some(Executed { reply: decision.reply, replayed: false, position }))
            }
            Outcome::AlreadyDone { outcome } => Ok(Some(replayed(&outcome)?)),
            Outcome::KeyReused => Err(ExecuteError::KeyReused),
            Outcome::Conflict { .. } | Outcome::RowConflict { .. } => Ok(None),
        }
    }

    /// Keeps the state of the new stream, now that it is on disk, unless another task has read the
    /// stream meanwhile or is about to: then its state is at least as new.
    fn keep(&self, entry: &Entry<R::State>, state: R::State, events: &[R::Event], stamp: &Stamp) {
        let Ok(mut guard) = entry.loaded.try_lock() else { return };
        let mut loaded = LoadedState::on_disk(&entry.stream, state, Version::ZERO);
        let snapshot = evolve::<R>(&mut loaded, events, stamp);
        let version = loaded.version;
        // Later events of this process were decided on a state that it had read.
        if guard.is_some() || entry.ahead() >= version {
            return;
        }
        loaded.confirm(version);
        entry.mark_ahead(version);
        *guard = Some(loaded);
        drop(guard);
        if let Some(state) = snapshot {
            snapshot::keep::<R>(self.log(), &entry.stream, state, version);
        }
    }
}
