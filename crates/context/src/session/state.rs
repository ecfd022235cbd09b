//! A session: the fold of its stream. Pure.
//! Must not know: its packages.

use serde::{Deserialize, Serialize};

use super::event::{SessionEvent, SessionStarted};
use crate::moment::Moment;

/// A session. The default means that no session has the id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// Its start.
    pub started: Option<SessionStarted>,
    /// Its end.
    pub ended_at: Option<Moment>,
}

impl SessionState {
    /// The session after an event.
    pub fn evolve(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::SessionStarted(event) => self.started = Some(event.clone()),
            SessionEvent::SessionEnded(event) => {
                self.ended_at = Some(event.ended_at);
                self.started
                    .iter_mut()
                    .for_each(|started| started.extensions.extend(event.extensions.clone()));
            }
        }
    }
}
