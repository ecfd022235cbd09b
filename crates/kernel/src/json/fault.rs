//! The faults of a JSON text, each with its byte offset.
//! Must not know: the status or code of a protocol's response.

use crate::limits::{JSON_DEPTH_MAX, JSON_INTEGER_MAX};

/// Why a text is not strict JSON (wire.md D.3). `at` is a byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The text begins with a byte order mark.
    #[error("the text begins with a byte order mark; leave it out")]
    ByteOrderMark,
    /// The text is not UTF-8.
    #[error("byte {at} is not valid UTF-8")]
    InvalidUtf8 {
        /// The first invalid byte.
        at: usize,
    },
    /// The text ends before the value does. An empty text has this fault too.
    #[error("the text ends at byte {at}, before the value does")]
    UnexpectedEnd {
        /// The end of the text.
        at: usize,
    },
    /// A byte that the grammar does not permit at this position.
    #[error("byte {at} is not valid JSON")]
    Unexpected {
        /// The byte.
        at: usize,
    },
    /// Text other than white space follows the value.
    #[error("there is more text after the end of the value, at byte {at}")]
    TrailingBytes {
        /// The first byte of that text.
        at: usize,
    },
    /// Arrays and objects are nested deeper than the limit.
    #[error("nested deeper than {JSON_DEPTH_MAX} levels at byte {at}")]
    TooDeep {
        /// The bracket that opens the level beyond the limit.
        at: usize,
    },
    /// An object has two members of the same name, compared after unescaping.
    #[error("the member name at byte {at} is a duplicate in its object")]
    DuplicateKey {
        /// The start of the second name.
        at: usize,
    },
    /// A NUL in text, raw or escaped.
    #[error("NUL is not accepted in text, at byte {at}")]
    Nul {
        /// The NUL or its escape.
        at: usize,
    },
    /// An unescaped control character below U+0020 in a string.
    #[error("the control character at byte {at} must be escaped")]
    Control {
        /// The character.
        at: usize,
    },
    /// A backslash that does not begin a valid escape.
    #[error("the escape at byte {at} is not valid in JSON")]
    BadEscape {
        /// The backslash.
        at: usize,
    },
    /// A lone surrogate.
    #[error("the escape at byte {at} is half of a surrogate pair")]
    LoneSurrogate {
        /// The backslash of the escape.
        at: usize,
    },
    /// An integer that some JSON readers cannot represent exactly.
    #[error("the integer at byte {at} is beyond {JSON_INTEGER_MAX}; send it as a string")]
    IntegerTooLarge {
        /// The start of the number.
        at: usize,
    },
    /// A number beyond the range of a double.
    #[error("the number at byte {at} is beyond the range of a double")]
    NumberOverflow {
        /// The start of the number.
        at: usize,
    },
}
