//! Dropped and returning connections (ASP-49 to ASP-53): the effect of an agent's first and last connection on its
//! sessions, and the grace window. The window's end is a command that applies only if nothing came between
//! (`ExpireGrace`), so that exactly one of return and leaving happens, whichever process keeps the time.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use plenary_hub::LastClosed;
use plenary_kernel::{AgentHandle, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};
use quick_cache::sync::Cache;

use crate::{
    Sessions,
    command::{ExpireGrace, NoteDisconnect, NoteReconnect},
    room::{AWAY, JOINED},
};

/// How many sessions of one agent are updated at a time.
const UPDATES_AT_ONCE: usize = 64;
/// Most agents whose transitions are kept in order; beyond it the oldest key is dropped.
const TRANSITIONS_MAX: usize = 65_536;

/// The delay before a failed disconnect is tried again: the first and the longest.
const RETRY_DELAY_MIN: Duration = Duration::from_secs(1);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(30);

type Window = (AgentHandle, String, Version);

/// The transitions and grace windows in progress.
pub(crate) struct Transport {
    /// One transition per agent at a time.
    transitions: Cache<AgentHandle, Arc<tokio::sync::Mutex<()>>>,
    /// Grace windows that this process ends.
    windows: Mutex<HashSet<Window>>,
}

impl Default for Transport {
    fn default() -> Self {
        Self { transitions: Cache::new(TRANSITIONS_MAX), windows: Mutex::new(HashSet::new()) }
    }
}

impl Transport {
    fn transition(&self, handle: &AgentHandle) -> Arc<tokio::sync::Mutex<()>> {
        let lock: Result<_, std::convert::Infallible> =
            self.transitions.get_or_insert_with(handle, || Ok(Arc::default()));
        let Ok(lock) = lock;
        lock
    }
}

impl Sessions {
    /// Handles an agent's first connection: it returns to every session where its transport had dropped (ASP-50).
    pub(crate) async fn handle_online(&self, handle: &AgentHandle) -> Result<(), Fault> {
        let transition = self.0.transport.transition(handle);
        let _guard = transition.lock().await;
        let reconnect = NoteReconnect(handle.clone());
        self.for_each_session(AWAY, handle, |id| {
            let reconnect = &reconnect;
            async move {
                // It may be offline again: its disconnect may have been written before this task ran.
                if self.0.presence.is_online(handle) { self.note(&id, reconnect).await } else { Ok(()) }
            }
        })
        .await
    }

    /// Handles the close of the agent's last connection to this process (ASP-49).
    pub(crate) async fn handle_offline(&self, handle: &AgentHandle, closed: LastClosed) -> Result<(), Fault> {
        let transition = self.0.transport.transition(handle);
        let _guard = transition.lock().await;
        // The agent is connected again. Its row says online, and must not change.
        if self.0.presence.is_online(handle) {
            return Ok(());
        }
        let is_offline = match closed.cursor {
            Some(cursor) => {
                let is_offline = self.0.cursors.release_cursor(handle, cursor).await?;
                // The agent came back during the write.
                if self.0.presence.is_online(handle) {
                    let cursor = self.0.presence.cursor(handle).unwrap_or(cursor);
                    self.0.cursors.moved(handle, cursor, true);
                }
                is_offline
            }
            None => !self.0.cursors.is_online_elsewhere(handle).await?,
        };
        if is_offline { self.note_offline(handle).await } else { Ok(()) }
    }

    /// Like [`Self::handle_offline`], but retries while the store fails: nothing else would notice the agent's absence.
    pub(crate) async fn handle_offline_with_retries(&self, handle: &AgentHandle, closed: LastClosed) {
        let mut pause = RETRY_DELAY_MIN;
        while let Err(fault) = self.handle_offline(handle, closed).await {
            tracing::warn!(%fault, "a disconnect was not written; it is tried again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_DELAY_MAX);
            if self.0.presence.is_closed() {
                return;
            }
        }
    }

    /// Handles an agent that is offline in every process.
    async fn note_offline(&self, handle: &AgentHandle) -> Result<(), Fault> {
        let disconnect = NoteDisconnect(handle.clone());
        self.for_each_session(JOINED, handle, |id| {
            let disconnect = &disconnect;
            async move {
                // Not if the agent is back, or if the server is stopping, which is not a disconnect (2.5 row 12).
                if self.0.presence.is_online(handle) || self.0.presence.is_closed() {
                    return Ok(());
                }
                self.note(&id, disconnect).await?;
                self.await_grace(handle, &id).await
            }
        })
        .await
    }

    /// Restarts the grace window for every agent whose transport had dropped when the server stopped
    /// (wire.md D.9). An agent that is connected here has returned.
    pub async fn resume_grace(&self) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(AWAY, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            let Some((handle, id)) = row.key.split_once('/') else { continue };
            let Ok(handle) = handle.parse() else { continue };
            if self.0.presence.is_online(&handle) {
                // Another process could not hear this one for a while, and took the agent for gone.
                if let Some(cursor) = self.0.presence.cursor(&handle) {
                    self.0.cursors.moved(&handle, cursor, true);
                }
                self.handle_online(&handle).await?;
                continue;
            }
            let result = self.await_grace(&handle, id).await;
            Fault::skip_corrupt(result, "a damaged session's grace window is not kept")?;
        }
        Ok(())
    }

    /// On a shared store: marks the agents of dead processes as disconnected, and takes over the grace windows of those
    /// processes. Called every few seconds.
    pub async fn adopt_orphans(&self) -> Result<(), Fault> {
        for orphan in self.0.cursors.orphans().await? {
            let handle = &orphan.handle;
            let transition = self.0.transport.transition(handle);
            let _guard = transition.lock().await;
            let is_online =
                self.0.presence.is_online(handle) || self.0.cursors.is_online_elsewhere(handle).await?;
            if !is_online {
                self.note_offline(handle).await?;
            }
            // Last, so that work that a fault interrupts is found again.
            self.0.cursors.adopt(&orphan).await?;
        }
        self.resume_grace().await
    }

    /// Starts the timer for the grace window of the agent's present disconnect, once per window.
    async fn await_grace(&self, handle: &AgentHandle, id: &str) -> Result<(), Fault> {
        let (state, _) = self.0.streams.state(id).await?;
        if state.host().is_some() {
            // The host keeps the time for its own session.
            return Ok(());
        }
        let Some(since) = state.participant(handle).and_then(|participant| participant.away) else {
            return Ok(());
        };
        let window = (handle.clone(), id.to_owned(), since);
        let windows = || self.0.transport.windows.lock();
        if !windows().insert(window.clone()) {
            return Ok(());
        }
        let (sessions, grace) = (self.clone(), self.0.config.grace);
        tokio::spawn(async move {
            tokio::time::sleep(grace).await;
            let mut pause = RETRY_DELAY_MIN;
            let end_window = async || {
                let result = sessions.end_grace(&window).await;
                Fault::skip_corrupt(result, "the grace window in a damaged session does not end")
            };
            while let Err(fault) = end_window().await {
                tracing::warn!(%fault, "the end of a grace window was not written; it is tried again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RETRY_DELAY_MAX);
            }
            sessions.0.transport.windows.lock().remove(&window);
        });
        Ok(())
    }

    async fn end_grace(&self, (handle, id, since): &Window) -> Result<(), Fault> {
        let transition = self.0.transport.transition(handle);
        let _guard = transition.lock().await;
        if self.0.presence.is_closed() {
            return Ok(());
        }
        if self.0.presence.is_online(handle) || self.0.cursors.is_online_elsewhere(handle).await? {
            return self.note(id, &NoteReconnect(handle.clone())).await;
        }
        self.note(id, &ExpireGrace { agent: handle.clone(), since: *since }).await
    }

    /// Runs a function for every session after `<handle>/` in an index, several at a time.
    async fn for_each_session<F: Future<Output = Result<(), Fault>>>(
        &self,
        index: &str,
        handle: &AgentHandle,
        update: impl Fn(String) -> F,
    ) -> Result<(), Fault> {
        let mut after = None;
        loop {
            let ids = self.ids(index, handle, after.as_deref(), Order::Ascending, READ_ROWS_MAX).await?;
            let (count, last) = (ids.len(), ids.last().cloned());
            let mut updates = stream::iter(ids).map(&update).buffer_unordered(UPDATES_AT_ONCE);
            while let Some(answer) = updates.next().await {
                Fault::skip_corrupt(answer, "a damaged session was not updated after a connection changed")?;
            }
            if count < READ_ROWS_MAX {
                return Ok(());
            }
            after = last;
        }
    }
}
