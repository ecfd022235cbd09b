//! The word index of a data directory, or of one process in memory: posting lists in a separate SQLite file. One
//! low-priority thread writes it; searches run concurrently (docs/decisions/0020, 0026).
//! Must not know: the content of documents.

mod dense;
mod documents;
mod entries;
mod ids;
mod lists;
mod merge;
mod open;
mod pages;
mod runs;
mod search;
mod shelf;
mod writer;

use std::{path::Path, sync::Arc, thread::JoinHandle};

use plenary_kernel::Position;
use plenary_retrieval::{Answer, Change, Extent, Fault, Hit, Index, PutOutcome, Query, Scope};
use tokio::sync::{mpsc, oneshot};

use self::{
    shelf::Shelf,
    writer::{Job, Writer},
};

/// Most writes in the queue of the writing thread; beyond it a caller waits.
const JOBS_WAITING_MAX: usize = 4;

/// An index on this machine.
pub struct SqliteIndex {
    shelf: Arc<Shelf>,
    jobs: mpsc::Sender<Job>,
    thread: parking_lot::Mutex<Option<JoinHandle<()>>>,
}

/// Opens the index in a directory, and creates the directory if necessary. A damaged index, or one of another
/// format, is
/// deleted with a line in the program's log. Reads little, whatever the size of the index; blocks.
///
/// # Errors
/// If the directory can be neither read nor created.
pub fn open(directory: &Path) -> Result<Arc<SqliteIndex>, Fault> {
    start(open::in_directory(directory)?)
}

/// An index in memory only.
///
/// # Errors
/// If no thread can be started.
pub fn open_memory() -> Result<Arc<SqliteIndex>, Fault> {
    start(open::in_memory().map_err(unavailable)?)
}

fn start(shelf: Shelf) -> Result<Arc<SqliteIndex>, Fault> {
    let shelf = Arc::new(shelf);
    let (jobs, waiting) = mpsc::channel(JOBS_WAITING_MAX);
    let writer = Writer::new(shelf.clone());
    let thread = std::thread::Builder::new().name("search-index".to_owned());
    let thread = thread.spawn(move || writer.run(waiting)).map_err(unavailable)?;
    Ok(Arc::new(SqliteIndex { shelf, jobs, thread: parking_lot::Mutex::new(Some(thread)) }))
}

fn unavailable(error: impl std::fmt::Display) -> Fault {
    Fault::Unavailable(error.to_string())
}

impl SqliteIndex {
    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T, Fault>>) -> Job) -> Result<T, Fault> {
        let (to, answer) = oneshot::channel();
        self.jobs.send(job(to)).await.map_err(|_| unavailable("the writing thread has ended"))?;
        answer.await.unwrap_or_else(|_| Err(unavailable("the write was given up")))
    }

    /// Runs a read. If it meets damage, the writing thread rebuilds the index.
    async fn looking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shelf) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let shelf = self.shelf.clone();
        let done = blocking(move || work(&shelf).map_err(unavailable)).await;
        if done.is_err() && self.shelf.is_damaged() {
            // If the queue is full, its next job renews a damaged index first.
            let _is_told = self.jobs.try_send(Job::Renew);
        }
        done
    }
}

/// Runs blocking work on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(unavailable(error)))
}

impl Index for SqliteIndex {
    fn leads(&self) -> Answer<'_, bool> {
        // A data directory belongs to one process. `false` after a damaged index was rebuilt, so that the
        // follower reads the
        // cursor again.
        Box::pin(async { Ok(!self.shelf.was_renewed()) })
    }

    fn extent(&self) -> Answer<'_, Extent> {
        Box::pin(async { Ok(self.shelf.documents.lock().head.extent()) })
    }

    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, PutOutcome> {
        Box::pin(self.ask(move |reply| Job::Put { changes, from, to, reply }))
    }

    fn clear(&self) -> Answer<'_, ()> {
        Box::pin(self.ask(|reply| Job::Clear { reply }))
    }

    fn search<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<Hit>> {
        let (query, scope) = (query.clone(), scope.clone());
        Box::pin(self.looking(move |shelf| search::search(shelf, &query, &scope, limit)))
    }

    fn common<'a>(&'a self, query: &'a Query, scope: &'a Scope) -> Answer<'a, Vec<String>> {
        let (query, scope) = (query.clone(), scope.clone());
        Box::pin(self.looking(move |shelf| search::common(shelf, &query, &scope)))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            // Unfinished merges are done after the next start.
            self.shelf.close();
            self.ask(|reply| Job::Close { reply }).await?;
            let thread = self.thread.lock().take();
            match thread {
                Some(thread) => {
                    blocking(move || thread.join().map_err(|_| unavailable("a bug ended it"))).await
                }
                None => Ok(()),
            }
        })
    }
}
