//! How far this process has heard what is committed on its store, and the wait for what other processes have
//! committed. Must not know: what the events say.

use plenary_kernel::Position;
use plenary_log::{Fault, StoredEvent};
use tokio::{sync::watch, time::timeout};

use crate::{Accounts, limits::HEARING_WAIT};

/// The last place up to which everything is taken note of.
pub(crate) struct Hearing(watch::Sender<Position>);

impl Default for Hearing {
    fn default() -> Self {
        Self(watch::Sender::new(Position::ZERO))
    }
}

impl Hearing {
    /// These events, and all before them, are taken note of.
    pub(crate) fn heard(&self, events: &[StoredEvent]) {
        if let Some(last) = events.last() {
            self.reach(last.position);
        }
    }

    fn reach(&self, position: Position) {
        self.0.send_if_modified(|heard| {
            let further = position > *heard;
            *heard = position.max(*heard);
            further
        });
    }
}

impl Accounts {
    /// Counts what is committed by now as heard: nothing of it is remembered here, so all of it will be read. For a
    /// process on a shared store, before it looks anything up.
    pub async fn begin(&self) -> Result<(), Fault> {
        self.hearing().reach(self.log().head().await?);
        Ok(())
    }

    /// Waits until this process has taken note of everything that any process on its store has committed by now, so
    /// that what is looked up next is no older than that. Alone on a store it is so already.
    ///
    /// # Errors
    /// `Unavailable` when the events have not come within [`HEARING_WAIT`]: old trust is not acted upon.
    pub async fn hear_others(&self) -> Result<(), Fault> {
        if !self.log().shared() {
            return Ok(());
        }
        let head = self.log().head().await?;
        let mut heard = self.hearing().0.subscribe();
        let arrival = timeout(HEARING_WAIT, heard.wait_for(|heard| *heard >= head)).await;
        match arrival {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                Err(Fault::Unavailable("what other processes committed has not arrived".into()))
            }
        }
    }
}
