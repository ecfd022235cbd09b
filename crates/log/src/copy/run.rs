//! The order of a copy. What is only appended to, events and keys, is copied first and as often as needed while a server
//! writes; then, of one moment, what is left of it and everything that changes: index rows, rows and use.
//! Must not know: any database.

use std::time::Duration;

use plenary_kernel::Position;

use super::{BoxError, CopyDestination, CopyError, CopySource, Part, Records};

/// How often a copy looks for new events while it follows a server.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// After this many new events a copy that follows also reads the new keys, for which a source may have to look at all of
/// them. The last step reads the others.
const KEYS_EVERY: u64 = 20_000;

/// When a copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// As soon as it can; it is of a moment during its run.
    Now,
    /// When no server uses the source any more; it has everything that one acknowledged.
    Stopped,
}

/// What was copied, in all runs of this copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// The position of the last event.
    pub head: Position,
    /// The number of index rows.
    pub index_rows: u64,
    /// The number of rows.
    pub rows: u64,
    /// The number of accounts with a use.
    pub accounts: u64,
}

/// Copies a store. `following` is called once, when a copy that waits for the end of a server has all events of the
/// moment.
///
/// # Errors
/// See [`CopyError`]. The destination is then unfinished; the same copy can be run again, and goes on with it.
pub async fn copy(
    from: &mut dyn CopySource,
    to: &mut dyn CopyDestination,
    until: Until,
    following: &mut (dyn FnMut(Position) + Send),
) -> Result<CopyReport, CopyError> {
    let last = to.begin(from.epoch()).await.map_err(CopyError::Destination)?;
    let mut head = Position::ZERO;
    if let Some(last) = last {
        let same = source(from.event(last.position).await)?;
        if same.is_none_or(|(event, _)| event != last) {
            return Err(CopyError::Diverged);
        }
        head = last.position;
    }
    let mut run = Run { from, to, head };
    // Most of the work, without a moment: the one below is then a short one.
    run.events().await?;
    run.part(Part::Keys).await?;
    if until == Until::Stopped {
        run.follow(following).await?;
    }
    run.last_step(until).await
}

struct Run<'a> {
    from: &'a mut dyn CopySource,
    to: &'a mut dyn CopyDestination,
    /// The position of the last copied event.
    head: Position,
}

impl Run<'_> {
    async fn follow(&mut self, following: &mut (dyn FnMut(Position) + Send)) -> Result<(), CopyError> {
        let (mut following, mut with_keys) = (Some(following), self.head);
        while !source(self.from.lock_out().await)? {
            self.events().await?;
            if self.head.0 - with_keys.0 >= KEYS_EVERY {
                self.part(Part::Keys).await?;
                with_keys = self.head;
            }
            if let Some(following) = following.take() {
                following(self.head);
            }
            tokio::time::sleep(FOLLOW_EVERY).await;
        }
        Ok(())
    }

    async fn last_step(&mut self, until: Until) -> Result<CopyReport, CopyError> {
        let head = source(self.from.freeze().await)?;
        self.events().await?;
        if self.head != head {
            let why = format!("the log ends at {} and says that it ends at {head}", self.head);
            return Err(CopyError::Damaged(why));
        }
        self.part(Part::Keys).await?;
        destination(self.to.clear().await)?;
        let report = CopyReport {
            head,
            index_rows: self.part(Part::Index).await?,
            rows: self.part(Part::Rows).await?,
            accounts: self.part(Part::Usage).await?,
        };
        if until == Until::Stopped {
            source(self.from.still_locked_out().await)?;
        }
        destination(self.to.finish(head).await)?;
        Ok(report)
    }

    async fn events(&mut self) -> Result<(), CopyError> {
        self.part(Part::Events { after: self.head }).await.map(drop)
    }

    /// Copies a part; returns the number of records.
    async fn part(&mut self, part: Part) -> Result<u64, CopyError> {
        source(self.from.read(part).await)?;
        let mut count = 0;
        while let Some(records) = source(self.from.page().await)? {
            records.check(self.head)?;
            count += records.count();
            let last = match &records {
                Records::Events(events) => events.last().map(|event| event.record.position),
                Records::Keys(_) | Records::Index(_) | Records::Rows(_) | Records::Usage(_) => None,
            };
            destination(self.to.write(records).await)?;
            self.head = last.unwrap_or(self.head);
        }
        Ok(count)
    }
}

fn source<T>(step: Result<T, BoxError>) -> Result<T, CopyError> {
    step.map_err(CopyError::Source)
}

fn destination<T>(step: Result<T, BoxError>) -> Result<T, CopyError> {
    step.map_err(CopyError::Destination)
}
