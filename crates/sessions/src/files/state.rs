//! A file: the fold of its stream. Pure.
//! Must not know: its content.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

use super::event::FileEvent;

/// The state of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileState {
    /// There is none.
    #[default]
    Absent,
    /// It is being uploaded.
    Begun {
        /// The actor.
        by: AgentHandle,
        /// When that is given up, in epoch milliseconds.
        until: u64,
    },
    /// It is kept.
    Kept {
        /// Who uploaded it.
        by: AgentHandle,
        /// When it is removed if no message names it by then, in epoch milliseconds.
        until: u64,
        /// Its size.
        bytes: u64,
        /// How many sessions have messages that name it.
        sessions: u32,
    },
    /// Removed; the content still exists.
    Removed,
    /// Removed with its content.
    Gone,
}

impl FileState {
    /// Pure: the state after an event.
    pub(crate) fn evolve(&mut self, event: &FileEvent) {
        *self = match (std::mem::take(self), event) {
            (_, FileEvent::UploadBegun(event)) => Self::Begun { by: event.by.clone(), until: event.until },
            (_, FileEvent::FileUploaded(event)) => {
                Self::Kept { by: event.by.clone(), until: event.until, bytes: event.bytes, sessions: 0 }
            }
            (Self::Kept { by, until, bytes, sessions }, FileEvent::FileNamed(_)) => {
                Self::Kept { by, until, bytes, sessions: sessions.saturating_add(1) }
            }
            (other, FileEvent::FileNamed(_)) => other,
            (_, FileEvent::FileRemoved(_)) => Self::Removed,
            (_, FileEvent::ContentRemoved(_)) => Self::Gone,
        };
    }
}
