//! Faults: the store or the connection to it failed. Never a normal answer, never a bug of the caller.

/// A failure of the store. The texts are for the server's log, not for peers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing was done; the store can't be reached now.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The write may or may not be on disk; retry with the same key.
    #[error("the outcome of the write is unknown: {0}")]
    OutcomeUnknown(String),
    /// Nothing was done; too many requests wait.
    #[error("the store is overloaded")]
    Overloaded,
    /// Nothing was done; the device is full.
    #[error("the store is full: {0}")]
    Full(String),
    /// Stored bytes are not what was written.
    #[error("stored data is corrupt: {0}")]
    Corrupt(String),
}

impl Fault {
    /// For work on many items, of which a damaged one must not block the others: turns `Corrupt` into
    /// `None` with an entry in the server's log. `what` names the work that was skipped.
    ///
    /// # Errors
    /// Every other fault.
    pub fn skip_corrupt<T>(answer: Result<T, Self>, what: &'static str) -> Result<Option<T>, Self> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(fault @ Self::Corrupt(_)) => {
                tracing::error!(%fault, "{what}");
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }
}
