//! The failures of a command, and their exit codes.
//! Must not know: the texts for people; `explain` has them.

use std::{io, process::ExitCode};

use plenary_client::{Error, FaultKind};

use super::identity::Holder;

/// The documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done,
    /// The server refused, or something failed on this machine.
    Refused,
    /// The command was malformed.
    Usage,
    /// The server cannot be reached.
    Unreachable,
    /// There is no token, or the server does not accept it.
    Auth,
    /// No answer arrived.
    Unanswered,
    /// Canceled before the end, for example by Ctrl-C.
    Canceled,
    /// The exit code of a command that was run.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Auth => 4,
            Exit::Unanswered => 5,
            Exit::Canceled => 130,
            Exit::Command(code) => code,
        })
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call to the server failed.
    Call(Error),
    /// The server refused, and the next step is known better than from the refusal alone.
    Refused { error: Error, next: String },
    /// The command was malformed, which only running it shows.
    Usage {
        /// The error.
        what: String,
        next: String,
    },
    /// There is no token.
    Auth {
        /// The missing token.
        what: String,
        next: String,
        /// The holder, if its token for the command's server is what is missing.
        missing: Option<Holder>,
    },
    /// No server runs where the command looks for it.
    Unreachable {
        /// The place.
        what: String,
        next: String,
    },
    /// A failure on this machine.
    Local {
        /// The error.
        what: String,
        /// The next step, if known.
        next: Option<String>,
    },
    /// Standard output could not be written.
    Output(io::Error),
    /// The message was printed already.
    Reported(Exit),
}

impl Failure {
    pub(crate) fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), next: next.into() }
    }

    pub(crate) fn auth(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Auth { what: what.into(), next: next.into(), missing: None }
    }

    /// The command's server may not run at all, which is the first thing to say.
    pub(crate) fn no_token(holder: Holder, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Auth { what: what.into(), next: next.into(), missing: Some(holder) }
    }

    pub(crate) fn unreachable(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Unreachable { what: what.into(), next: next.into() }
    }

    pub(crate) fn local(what: impl Into<String>) -> Self {
        Self::Local { what: what.into(), next: None }
    }

    /// Signals cannot be watched.
    pub(crate) fn signals(error: &io::Error) -> Self {
        Self::local(format!("signals cannot be watched: {error}"))
    }

    pub(crate) fn local_with(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Local { what: what.into(), next: Some(next.into()) }
    }

    /// The exit code of this failure.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused { .. } => Exit::Refused,
            Self::Call(Error::Network(fault)) if fault.kind == FaultKind::Unproved => Exit::Auth,
            Self::Call(Error::Network(_)) | Self::Unreachable { .. } => Exit::Unreachable,
            Self::Call(Error::Refused(refused)) if refused.status == 401 => Exit::Auth,
            Self::Call(Error::Refused(_) | Error::Unreadable(_)) => Exit::Refused,
            Self::Call(Error::Invalid(_)) | Self::Usage { .. } => Exit::Usage,
            Self::Auth { .. } => Exit::Auth,
            Self::Local { .. } => Exit::Refused,
            // A reader that closed the pipe, as `head` does, needs no more output.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::Refused,
            Self::Reported(exit) => *exit,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// Bare I/O errors come only from printing; every file error is explained where it occurs.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
