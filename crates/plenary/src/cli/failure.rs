//! The failures of a command, and their exit codes.
//! Must not know: the texts for people; `explain` has them.

use std::{io, process::ExitCode};

use plenary_client::{Error, FaultKind};

/// The documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The server refused, or something failed on this machine.
    Refused,
    /// The command was not well formed.
    Usage,
    /// The server cannot be reached.
    Unreachable,
    /// There is no token, or the server does not take it.
    Auth,
    /// Nobody answered.
    Unanswered,
    /// Stopped before it was done, as after Ctrl-C.
    Canceled,
    /// What a command that was run ended with.
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
    /// The server refused, and more is known of what to do than the refusal says.
    Refused {
        /// The refusal.
        error: Error,
        /// What to do.
        next: String,
    },
    /// The command was not well formed, in a way only running it shows.
    Usage {
        /// What is wrong.
        what: String,
        /// What to do.
        next: String,
    },
    /// There is nothing to authenticate with.
    Auth {
        /// What is missing.
        what: String,
        /// What to do.
        next: String,
    },
    /// Something on this machine.
    Local {
        /// What went wrong.
        what: String,
        /// What to do, where that is known.
        next: Option<String>,
    },
    /// Standard output could not be written.
    Output(io::Error),
    /// Whatever there is to say was said.
    Said(Exit),
}

impl Failure {
    pub(crate) fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), next: next.into() }
    }

    pub(crate) fn auth(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Auth { what: what.into(), next: next.into() }
    }

    pub(crate) fn local(what: impl Into<String>) -> Self {
        Self::Local { what: what.into(), next: None }
    }

    pub(crate) fn local_with(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Local { what: what.into(), next: Some(next.into()) }
    }

    /// The exit code of this failure.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused { .. } => Exit::Refused,
            Self::Call(Error::Network(fault)) if fault.kind == FaultKind::Unproved => Exit::Auth,
            Self::Call(Error::Network(_)) => Exit::Unreachable,
            Self::Call(Error::Refused(refused)) if refused.status == 401 => Exit::Auth,
            Self::Call(Error::Refused(_) | Error::Unreadable(_)) => Exit::Refused,
            Self::Call(Error::Invalid(_)) | Self::Usage { .. } => Exit::Usage,
            Self::Auth { .. } => Exit::Auth,
            Self::Local { .. } => Exit::Refused,
            // Whoever closed the pipe, as `head` does, has what it wants.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(_) => Exit::Refused,
            Self::Said(exit) => *exit,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// Only printing gives bare I/O errors; every file error is put into words where it happens.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
