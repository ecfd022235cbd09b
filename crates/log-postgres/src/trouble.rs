//! Maps an error of PostgreSQL to a fault.

use plenary_log::Fault;
use tokio_postgres::{
    Error,
    error::{DbError, Severity},
};

/// An error, classified by its consequence. Shown as the words of the server or the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The connection is lost or unusable; another one may work.
    #[error("{0}")]
    Lost(String),
    /// Another session holds a lock, or it took too long; the connection is good.
    #[error("{0}")]
    Busy(String),
    /// The server's disk is full.
    #[error("{0}")]
    Full(String),
    /// The server refuses the request; the connection is good.
    #[error("{0}")]
    Refused(String),
    /// The store is not what this process wrote: the process must end.
    #[error("{0}")]
    Broken(String),
}

impl Trouble {
    /// The fault of work that was not done.
    pub fn fault(self) -> Fault {
        match self {
            Self::Lost(text) | Self::Refused(text) => Fault::Unavailable(text),
            Self::Busy(text) => {
                tracing::warn!(text, "PostgreSQL is busy");
                Fault::Overloaded
            }
            Self::Full(text) => Fault::Full(text),
            Self::Broken(text) => Fault::Corrupt(text),
        }
    }
}

impl From<&Error> for Trouble {
    fn from(error: &Error) -> Self {
        match error.as_db_error() {
            Some(db) => answered(db),
            None => Self::Lost(described(error)),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

/// Classifies an error of the server by its SQLSTATE.
fn answered(db: &DbError) -> Trouble {
    let code = db.code().code();
    let text = format!("{} ({code})", db.message());
    if matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) {
        return Trouble::Lost(text);
    }
    match code {
        // The server shut down, is starting, or has become a standby.
        "57P01" | "57P02" | "57P03" | "25006" => Trouble::Lost(text),
        // A lock or statement timed out, or was cancelled in favour of another one.
        "55P03" | "57014" | "40001" | "40P01" => Trouble::Busy(text),
        "53100" => Trouble::Full(text),
        "42501" => Trouble::Refused(text),
        _ => match &code[..2] {
            "08" => Trouble::Lost(text),
            // A constraint, a missing table, a system error, damaged data.
            "23" | "3F" | "42" | "58" | "F0" | "XX" => Trouble::Broken(text),
            _ => Trouble::Refused(text),
        },
    }
}

/// The error with its cause, which `Display` omits.
pub(crate) fn described(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_shown_without_its_class() {
        assert_eq!(Trouble::Lost("no answer within 3000 ms".into()).to_string(), "no answer within 3000 ms");
    }
}
