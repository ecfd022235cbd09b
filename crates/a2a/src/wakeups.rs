//! Wakes the followers of a session when it has new events. A wake-up has no payload: the follower reads again.
//! Must not know: the content of a session.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The followers of each session.
#[derive(Default)]
pub(crate) struct SessionWakeups(Mutex<HashMap<String, Weak<Notify>>>);

impl SessionWakeups {
    /// The wake-up of a session's followers.
    pub(crate) fn follow(&self, session: &str) -> Arc<Notify> {
        let mut waiting = self.0.lock();
        if let Some(there) = waiting.get(session).and_then(Weak::upgrade) {
            return there;
        }
        // Entries without followers are removed when the next follower registers.
        waiting.retain(|_, waiting| waiting.strong_count() > 0);
        let notify = Arc::<Notify>::default();
        waiting.insert(session.to_owned(), Arc::downgrade(&notify));
        notify
    }

    /// Wakes the followers of a session.
    pub(crate) fn wake(&self, session: &str) {
        if let Some(waiting) = self.0.lock().get(session).and_then(Weak::upgrade) {
            waiting.notify_waiters();
        }
    }
}
