//! Waits for commits of other processes on a shared store.
//! Must not know: the content of events.

use plenary_engine::{Sealed, seal};
use plenary_log::Fault;

use crate::{Accounts, limits::OBSERVATION_WAIT};

impl Accounts {
    /// Counts what is committed by now as observed: nothing of it is cached here, so all of it will be read. For a
    /// process on a shared store, before it looks anything up.
    pub fn begin(&self) -> Sealed<'_, Result<(), Fault>> {
        seal(async move {
            self.0.observed.raise(self.log().head().await?);
            Ok(())
        })
    }

    /// Waits until this process has taken note of everything that any process on its store has committed by now, so
    /// that what is looked up next is no older than that. Alone on a store it is so already.
    ///
    /// # Errors
    /// `Unavailable` when the events have not come within [`OBSERVATION_WAIT`]: old trust is not acted upon.
    pub fn observe_others(&self) -> Sealed<'_, Result<(), Fault>> {
        seal(async move {
            if !self.log().shared() {
                return Ok(());
            }
            let head = self.log().head().await?;
            if self.0.observed.reached(head, OBSERVATION_WAIT).await {
                return Ok(());
            }
            Err(Fault::Unavailable("what other processes committed has not arrived".into()))
        })
    }
}
