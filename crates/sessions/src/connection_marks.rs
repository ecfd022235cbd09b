//! From committed events to marks for the connections with something new to read. Passes on no payloads.

use std::sync::Arc;

use plenary_accounts::{AccountEvent, INBOX};
use plenary_engine::Room;
use plenary_hub::{Mailbox, Observer};
use plenary_kernel::Version;
use plenary_log::{Fault, StoredEvent};
use plenary_room::async_trait;

use crate::{Sessions, files::FileRoom, room::SessionRoom};

#[async_trait]
impl Observer for Sessions {
    async fn committed(&self, events: &[StoredEvent]) {
        let mut by_stream: Vec<&StoredEvent> = events.iter().collect();
        // Stable: within a stream the events stay in order.
        by_stream.sort_by(|a, b| a.stream.cmp(&b.stream));
        for run in by_stream.chunk_by(|a, b| a.stream == b.stream) {
            match run[0].stream.category() {
                SessionRoom::CATEGORY => self.mark_readers(run).await,
                FileRoom::CATEGORY => run.iter().for_each(|event| self.0.files.streams.observe(event)),
                INBOX => self.mark_inbox(run[0]),
                _ => self.recheck_connections(run),
            }
        }
    }
}

impl Sessions {
    /// Marks every agent that may read one of the events. The tail has the events before any reader wakes.
    async fn mark_readers(&self, run: &[&StoredEvent]) {
        run.iter().for_each(|event| self.0.streams.observe(event));
        let mailboxes = match self.mailboxes_of_readers(run).await {
            Ok(mailboxes) => mailboxes,
            Err(fault @ Fault::Corrupt(_)) => {
                tracing::error!(%fault, "a session cannot be read; its readers are not woken");
                return;
            }
            // Without its mark, a connection would have events confirmed that it never sent. It reads the session itself, and
            // ends if that fails too: its client then returns to what it has confirmed.
            Err(fault) => {
                tracing::warn!(%fault, "a session cannot be read now; every connection looks at it");
                self.0.presence.all_mailboxes()
            }
        };
        if mailboxes.is_empty() {
            return;
        }
        let first = run[0];
        self.0.tail.push(run.iter().copied());
        for mailbox in mailboxes {
            mailbox.mark(&first.stream, first.version);
        }
    }

    /// The mailboxes of the agents that may read one of the events of a session.
    async fn mailboxes_of_readers(&self, run: &[&StoredEvent]) -> Result<Vec<Arc<Mailbox>>, Fault> {
        let (first, last) = (run[0], run[run.len() - 1]);
        let (state, _) = self.0.streams.state(first.stream.id()).await?;
        if state.crosses {
            self.0.crossings.notify_growth();
        }
        let before = Version(first.version.0 - 1);
        let readers = state.participants.iter().filter(|(_, participant)| {
            participant.stay.is_some() || participant.next_readable(before, last.version).is_some()
        });
        Ok(self.0.presence.mailboxes(readers.map(|(handle, _)| handle)))
    }

    fn mark_inbox(&self, first: &StoredEvent) {
        let Ok(handle) = first.stream.id().parse() else { return };
        for mailbox in self.0.presence.mailboxes(std::iter::once(&handle)) {
            mailbox.mark(&first.stream, first.version);
        }
    }

    /// After a change of a token, a deletion or a block: the connections concerned check again before the next event is
    /// sent.
    fn recheck_connections(&self, run: &[&StoredEvent]) {
        for change in run.iter().filter_map(|event| AccountEvent::of(event)) {
            for mailbox in self.0.presence.mailboxes(change.rechecked().into_iter()) {
                mailbox.recheck();
            }
        }
    }
}
