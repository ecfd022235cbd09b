//! Keeps the index up to date: reads recent commits from memory or else the log, from the index's own cursor, and
//! writes them in batches. One process on a store writes.
//! Must not know: HTTP.

use std::time::Duration;

use plenary_engine::Room as _;
use plenary_kernel::Position;
use plenary_log::{Fault, PageSize, StoredEvent};
use plenary_retrieval::{Change, PutOutcome};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Search, documents::document};
use crate::{
    Context,
    lifecycle::Status,
    limits::SEARCH_OCTETS_MAX,
    package::{event::PackageEvent, room::PackageRoom},
};

/// The least time between two writes, while there is little to write.
const SPACING: Duration = Duration::from_millis(200);
/// How often a process that does not write looks how far the index is and whether it is to write now.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long nothing is tried after a fault.
const PAUSE: Duration = Duration::from_secs(1);
/// Events without packages after which the cursor is moved all the same, so that the next start need not read them.
const ADVANCE_EVENTS: u64 = 10_000;

/// What is to be written, and how far it reaches.
struct Batch {
    changes: Vec<Change>,
    octets: usize,
    until: Position,
}

impl Batch {
    fn from(until: Position) -> Self {
        Self { changes: Vec::new(), octets: 0, until }
    }
    fn is_full(&self, changes_max: usize) -> bool {
        self.changes.len() >= changes_max || self.octets >= SEARCH_OCTETS_MAX
    }
}

impl Context {
    /// Keeps the indexes up with the log, each by itself, until they are closed. A fault is tried again.
    pub async fn index(&self) {
        let meaning = async {
            if let Some(meaning) = self.meaning() {
                self.keep_up(&meaning.search).await;
            }
        };
        tokio::join!(self.keep_up(self.search()), meaning);
    }

    async fn keep_up(&self, search: &Search) {
        let mut closing = search.closing.subscribe();
        let following = async {
            let mut said = String::new();
            loop {
                if let Err(fault) = self.follow(search).await {
                    // A model may be away for hours: the same trouble is said once.
                    let trouble = fault.to_string();
                    if trouble != said {
                        tracing::warn!(%fault, "the search index cannot follow the log; it is tried again");
                    }
                    said = trouble;
                }
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            _ = closing.wait_for(|closing| *closing) => {}
            () = following => {}
        }
    }

    async fn follow(&self, search: &Search) -> Result<(), Fault> {
        loop {
            let is_ours = search.index.leads().await.map_err(unavailable)?;
            let stands = search.index.extent().await.map_err(unavailable)?.cursor;
            search.reached(stands, is_ours);
            if !is_ours {
                sleep(LOOK_EVERY).await;
                continue;
            }
            let head = self.log().head().await?;
            search.recent.seen(head);
            if stands > head {
                tracing::warn!(%stands, "the search index is ahead of the log and is rebuilt from it");
                search.index.clear().await.map_err(unavailable)?;
                continue;
            }
            self.write(search, stands).await?;
        }
    }

    /// Writes until somebody else does.
    async fn write(&self, search: &Search, mut stands: Position) -> Result<(), Fault> {
        let (mut batch, mut size) = (Batch::from(stands), PageSize::default());
        loop {
            let began = Instant::now();
            self.gather(search, &mut batch, &mut size).await?;
            if !search.index.leads().await.map_err(unavailable)? {
                return Ok(());
            }
            let is_far = batch.until.0 - stands.0 >= ADVANCE_EVENTS;
            if batch.changes.is_empty() && !is_far {
                search.reached(batch.until, true);
                // Nothing came, or the time has come to look whether this process still leads.
                let _either = timeout(LOOK_EVERY, search.recent.news()).await;
                continue;
            }
            let (is_full, until) = (batch.is_full(search.changes_max), batch.until);
            let written = search.index.put(batch.changes, stands, until).await.map_err(unavailable)?;
            let PutOutcome::Done = written else { return Ok(()) };
            stands = until;
            batch = Batch::from(until);
            search.reached(until, true);
            if !is_full {
                sleep_until(began + SPACING).await;
            }
        }
    }

    /// Reads until there is no more, or enough.
    async fn gather(&self, search: &Search, batch: &mut Batch, size: &mut PageSize) -> Result<(), Fault> {
        while !batch.is_full(search.changes_max) {
            let lately = search.recent.after(batch.until, search.changes_max);
            let (events, until) = match lately {
                Some(found) => found,
                None => {
                    let (page, until) = self.log().read_past_damage(batch.until, size.events()).await?;
                    size.learn(&page);
                    (page, until)
                }
            };
            if until == batch.until {
                return Ok(());
            }
            for event in events.iter().filter(|event| event.stream.category() == PackageRoom::CATEGORY) {
                if let Some(change) = self.change(event).await? {
                    batch.octets += event.payload.len();
                    batch.changes.push(change);
                }
            }
            batch.until = until;
        }
        Ok(())
    }

    /// What an event changes in the index.
    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        let id = event.stream.id();
        let decoded = match PackageEvent::decode(event) {
            Ok(decoded) => decoded,
            Err(fault) => {
                tracing::error!(%fault, "the event of a package cannot be read and is not indexed");
                return Ok(None);
            }
        };
        Ok(match decoded {
            PackageEvent::PackageDeposited(event) => {
                Some(Change::Put(document(id, &event.raw, event.status, event.created_at)))
            }
            // Of the states only whether it is a draft is kept there.
            PackageEvent::PackageFlagged(moved) | PackageEvent::PackageReviewed(moved)
                if moved.from == Status::Draft =>
            {
                let held = self.held(id).await?;
                held.map(|held| {
                    let at = held.present.created_at;
                    Change::Put(document(id, held.text.as_bytes(), held.present.status, at))
                })
            }
            PackageEvent::PackageFlagged(_) | PackageEvent::PackageReviewed(_) => None,
        })
    }
}

impl Search {
    fn reached(&self, place: Position, leads: bool) {
        self.recent.indexed(place, leads);
        self.count();
    }
}

pub(super) fn unavailable(fault: plenary_retrieval::Fault) -> Fault {
    let plenary_retrieval::Fault::Unavailable(text) = fault;
    Fault::Unavailable(text)
}
