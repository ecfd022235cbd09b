//! The failures of a call: refused by the server, interrupted by the network, or unreadable.
//! Must not know: the remedy; the command line has it.

use std::{fmt, time::Duration};

/// The result of every call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server was not reached, or the connection broke before the reply was complete.
    #[error(transparent)]
    Network(#[from] NetworkFault),
    /// The server answered with a refusal (wire.md D.3).
    #[error(transparent)]
    Refused(#[from] ServerRefusal),
    /// The server's answer could not be parsed: perhaps it is not a Plenary server.
    #[error("the server's answer was not understood: {0}")]
    Unreadable(String),
    /// The call could not be built: a bad URL, token or CA file.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// Whether repeating the same call with the same idempotency key may succeed (wire.md D.3, 503).
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network(fault) => fault.kind.may_pass(),
            Self::Refused(refused) => refused.status == 503,
            Self::Unreadable(_) | Self::Invalid(_) => false,
        }
    }

    /// Whether the failure may pass by itself: opening a stream again, or a report later, may succeed.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Refused(refused) => refused.status >= 500 && refused.status != 501 || refused.status == 429,
            Self::Network(_) | Self::Unreadable(_) | Self::Invalid(_) => self.is_transient(),
        }
    }

    /// The server's `Retry-After`, if it sent one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refused) => refused.retry_after,
            Self::Network(_) | Self::Unreadable(_) | Self::Invalid(_) => None,
        }
    }
}

/// A refusal of the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status} {code}: {message}")]
pub struct ServerRefusal {
    /// The HTTP status.
    pub status: u16,
    /// The stable code, e.g. `not_joined`; `http_<status>` if the body has none.
    pub code: String,
    /// The offending field, if the protocol names one (FO-73).
    pub field: Option<String>,
    /// The server's text for people.
    pub message: String,
    /// From the `Retry-After` header, in whole seconds.
    pub retry_after: Option<Duration>,
}

/// The kind of a network failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The host's name has no address.
    Resolve,
    /// Nothing listens at the address.
    Refused,
    /// The host was not reached in time, or not at all.
    Unreachable,
    /// The listener did not prove that it knows the token, which was not sent.
    Unproved,
    /// The listener is too busy for the call, which was not sent: it has no connection left, or its store does not answer.
    Busy,
    /// The TLS handshake failed; the certificate may be one we do not trust.
    Tls,
    /// The certificate is for another name.
    WrongName,
    /// The listener does not speak TLS.
    NotTls,
    /// The listener does not speak HTTP; it may speak TLS.
    NotHttp,
    /// The reply did not arrive in time. The call may have been carried out.
    TimedOut,
    /// The connection broke. The call may have been carried out.
    Lost,
}

impl FaultKind {
    /// Whether the failure may pass by itself.
    pub const fn may_pass(self) -> bool {
        match self {
            Self::Resolve | Self::Refused | Self::Unreachable | Self::Busy | Self::TimedOut | Self::Lost => {
                true
            }
            Self::Unproved | Self::Tls | Self::WrongName | Self::NotTls | Self::NotHttp => false,
        }
    }
}

/// A network failure of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkFault {
    /// Its kind.
    pub kind: FaultKind,
    /// The server's URL, e.g. `http://127.0.0.1:7420`.
    pub server: String,
    /// The technical cause, for people.
    pub detail: String,
    /// Whether the call only reads (RFC 9110 section 9.2.1).
    pub is_safe: bool,
}

impl NetworkFault {
    /// Whether the server may have carried out the call although no reply arrived.
    pub fn outcome_unknown(&self) -> bool {
        !self.is_safe && matches!(self.kind, FaultKind::TimedOut | FaultKind::Lost)
    }
}

impl fmt::Display for NetworkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, server, detail, .. } = self;
        match kind {
            FaultKind::Resolve => write!(f, "the host name of {server} cannot be resolved: {detail}"),
            FaultKind::Refused => write!(f, "nothing listens at {server}"),
            FaultKind::Unreachable => write!(f, "{server} cannot be reached: {detail}"),
            FaultKind::Unproved => write!(
                f,
                "the program that listens at {server} does not prove that the token belongs to it, so it was sent no \
                 token: {detail}"
            ),
            FaultKind::Busy => write!(f, "{server} is too busy for this call"),
            FaultKind::WrongName => write!(f, "the certificate of {server} is for another name: {detail}"),
            FaultKind::NotTls => write!(f, "the program that listens at {server} does not speak TLS"),
            FaultKind::NotHttp => write!(f, "the program that listens at {server} does not speak HTTP"),
            FaultKind::Tls => write!(f, "cannot make a secure connection to {server}: {detail}"),
            FaultKind::TimedOut => write!(f, "{server} did not answer in time: {detail}"),
            FaultKind::Lost => write!(f, "the connection to {server} was lost: {detail}"),
        }
    }
}

impl std::error::Error for NetworkFault {}
