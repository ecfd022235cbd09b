//! The errors of a JSON text, each with its byte offset.
//! Must not know: the status or code of a protocol's response.

use crate::limits::{JSON_DEPTH_MAX, JSON_INTEGER_MAX};

/// Why a text is not JSON that is accepted here (wire.md D.3). `at` is an offset in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The text begins with a byte order mark.
    #[error("the text begins with a byte order mark; leave it out")]
    ByteOrderMark,
    /// Not UTF-8.
    #[error("byte {at} is not valid UTF-8")]
    InvalidUtf8 {
        /// Where.
        at: usize,
    },
    /// The text ends before the value does; also an empty text.
    #[error("the text ends at byte {at}, before the value does")]
    UnexpectedEnd {
        /// Where.
        at: usize,
    },
    /// Something other than what the grammar allows here.
    #[error("byte {at} is not valid JSON")]
    Unexpected {
        /// Where.
        at: usize,
    },
    /// More than white space after the value.
    #[error("there is more text after the end of the value, at byte {at}")]
    TrailingBytes {
        /// Where.
        at: usize,
    },
    /// Arrays and objects nested deeper than the limit.
    #[error("nested deeper than {JSON_DEPTH_MAX} levels at byte {at}")]
    TooDeep {
        /// Where.
        at: usize,
    },
    /// One object names a member twice, compared after unescaping.
    #[error("the member name at byte {at} is a duplicate in its object")]
    DuplicateKey {
        /// Where the second one begins.
        at: usize,
    },
    /// A NUL, raw or escaped.
    #[error("NUL is not accepted in text, at byte {at}")]
    Nul {
        /// Where.
        at: usize,
    },
    /// A control character below U+0020 stands in a string without an escape.
    #[error("the control character at byte {at} must be escaped")]
    Control {
        /// Where.
        at: usize,
    },
    /// A backslash before something that is no escape.
    #[error("the escape at byte {at} is not valid in JSON")]
    BadEscape {
        /// Where the backslash stands.
        at: usize,
    },
    /// Half of a surrogate pair.
    #[error("the escape at byte {at} is half of a surrogate pair")]
    LoneSurrogate {
        /// Where the backslash stands.
        at: usize,
    },
    /// An integer that not every reader of JSON holds exactly.
    #[error("the integer at byte {at} is beyond {JSON_INTEGER_MAX}; send it as a string")]
    IntegerTooLarge {
        /// Where the number begins.
        at: usize,
    },
    /// A number beyond what a double holds.
    #[error("the number at byte {at} is beyond the range of a double")]
    NumberOverflow {
        /// Where the number begins.
        at: usize,
    },
}
