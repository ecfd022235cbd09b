//! The framing errors of a connection, outside any request.
//! Must not know: the form of the answer.

use std::error::Error;

use plenary_kernel::{Class, Refusal};

use crate::config::{HEAD_BYTES_MAX, HEADERS_MAX, TRAILER_BYTES_MAX};

/// Why a connection ends (RFC 9112). Faulty input is never passed on in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A TLS greeting on a port that speaks plain HTTP.
    #[error("this port speaks plain HTTP, not TLS; use http://")]
    TlsOnPlainPort,
    /// A line of the head or of the chunk framing ends in LF without CR.
    #[error("a line ends in a bare line feed")]
    BareLineFeed,
    /// The first line is not `method SP target SP HTTP/1.x`.
    #[error("the request line is malformed")]
    RequestLine,
    /// HTTP/0.9, 2 or something else.
    #[error("this server speaks only HTTP/1.1 and HTTP/1.0")]
    Version,
    /// CONNECT: this is not a proxy.
    #[error("this server is not a proxy")]
    Connect,
    /// A header line that begins with white space.
    #[error("a header is folded over several lines")]
    FoldedHeader,
    /// White space between a header's name and its colon.
    #[error("there is white space before the colon of a header")]
    SpaceBeforeColon,
    /// A header line without a colon, or with a name that is not a token.
    #[error("a header name is malformed")]
    HeaderName,
    /// NUL, CR or another control character in a header value.
    #[error("a header value contains a control character")]
    HeaderValue,
    /// HTTP/1.1 without Host.
    #[error("the Host header is missing")]
    HostMissing,
    /// More than one Host.
    #[error("there is more than one Host header")]
    HostRepeated,
    /// A Host that is not a valid host.
    #[error("the Host header is malformed")]
    Host,
    /// Content-Length and Transfer-Encoding together.
    #[error("Content-Length and Transfer-Encoding exclude each other")]
    LengthAndCoding,
    /// More than one Content-Length, equal or not.
    #[error("there is more than one Content-Length header")]
    LengthRepeated,
    /// A Content-Length that is not one decimal number.
    #[error("the Content-Length header is malformed")]
    Length,
    /// More than one Transfer-Encoding, one other than `chunked`, or one in HTTP/1.0.
    #[error("the only transfer coding accepted is a single `chunked`, in HTTP/1.1")]
    Coding,
    /// A WebSocket handshake with a body.
    #[error("a WebSocket handshake has no body")]
    UpgradeBody,
    /// The head is too large.
    #[error("the header section is larger than {HEAD_BYTES_MAX} bytes")]
    HeadTooLarge,
    /// The head has too many lines.
    #[error("the header section has more than {HEADERS_MAX} headers")]
    HeadersTooMany,
    /// The head did not arrive in time.
    #[error("the header section arrived too slowly")]
    HeadTooSlow,
    /// The chunked framing is broken.
    #[error("the chunked framing of the body is malformed")]
    Chunk,
    /// The trailer section is too large.
    #[error("the trailer section is larger than {TRAILER_BYTES_MAX} bytes")]
    TrailersTooLarge,
    /// The body did not arrive in time.
    #[error("the body arrived too slowly")]
    BodyTooSlow,
}

impl Fault {
    /// The refusal for the client.
    pub fn refusal(self) -> Refusal {
        let (class, code) = match self {
            Self::HeadTooLarge | Self::HeadersTooMany | Self::TrailersTooLarge => {
                (Class::HeadersTooLarge, "headers_too_large")
            }
            Self::HeadTooSlow | Self::BodyTooSlow => (Class::Timeout, "request_timeout"),
            Self::TlsOnPlainPort
            | Self::BareLineFeed
            | Self::RequestLine
            | Self::Version
            | Self::Connect
            | Self::FoldedHeader
            | Self::SpaceBeforeColon
            | Self::HeaderName
            | Self::HeaderValue
            | Self::HostMissing
            | Self::HostRepeated
            | Self::Host
            | Self::LengthAndCoding
            | Self::LengthRepeated
            | Self::Length
            | Self::Coding
            | Self::UpgradeBody
            | Self::Chunk => (Class::Malformed, "malformed_request"),
        };
        Refusal::new(class, code, format!("Malformed HTTP: {self}."))
    }

    /// The fault that ended a body, if it is the cause of the error.
    pub fn within(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            if let Some(fault) = inner.and_then(|e| e.downcast_ref::<Self>()) {
                return Some(*fault);
            }
            next = error.source();
        }
        None
    }
}
