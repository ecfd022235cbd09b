//! Idle sessions between the runs of their threads.
//! Must not know: their prompts.

use std::{collections::HashMap, time::Duration};

use plenary_runs::id::ThreadId;
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::{RESTING_MAX, link::Link, wire::Message};

/// The idle sessions of one agent. Dropping this ends their processes.
#[derive(Debug, Default)]
pub(super) struct ParkedSessions {
    parked: u64,
    resting: HashMap<ThreadId, ParkedSession>,
}

#[derive(Debug)]
struct ParkedSession {
    /// A counter: the lowest number is the session that has been idle longest.
    number: u64,
    wake: oneshot::Sender<()>,
    link: JoinHandle<Option<Link>>,
}

impl ParkedSessions {
    /// Keeps an idle session for at most `rest`.
    pub(super) fn park(&mut self, thread: ThreadId, mut link: Link, rest: Duration) {
        self.resting.retain(|_, resting| !resting.link.is_finished());
        if self.resting.len() >= RESTING_MAX
            && let Some(longest) = self.resting.iter().min_by_key(|(_, resting)| resting.number)
        {
            let longest = *longest.0;
            self.resting.remove(&longest);
        }
        self.parked += 1;
        let (wake, wakened) = oneshot::channel();
        let link = tokio::spawn(async move {
            let is_reused = tokio::select! {
                wakened = wakened => wakened.is_ok(),
                () = listen(&mut link) => false,
                () = sleep(rest) => false,
            };
            is_reused.then_some(link)
        });
        self.resting.insert(thread, ParkedSession { number: self.parked, wake, link });
    }

    /// The session of a thread, if it is still there.
    pub(super) fn wake(&mut self, thread: ThreadId) -> Option<impl Future<Output = Option<Link>> + use<>> {
        let ParkedSession { wake, link, .. } = self.resting.remove(&thread)?;
        // The session may just have ended; then there is no link.
        let _ = wake.send(());
        Some(async move { link.await.ok().flatten() })
    }
}

/// Reads and refuses messages until the program ends, so that it does not block.
async fn listen(link: &mut Link) {
    while let Some(message) = link.next().await {
        if let Message::Request { id, .. } = message
            && link.refuse(&id).is_err()
        {
            return;
        }
    }
}
