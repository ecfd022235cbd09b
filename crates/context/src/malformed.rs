//! The reason why a request is not a valid package, fact, project or session: a code, and the field as a path.
//! Must not know: HTTP.

/// An invalid request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ContextFault {
    /// The stable code.
    pub code: Code,
    /// The path of the invalid member: `deliverables[0].path`; absent if the whole is invalid.
    pub field: Option<String>,
    /// For people.
    pub message: String,
}

plenary_kernel::words! {
    /// The kinds of invalid requests.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Code {
        /// A body does not match its schema (AP-54).
        InvalidSchema = "invalid_schema",
        /// A claimed content hash differs from that of the package.
        HashMismatch = "hash_mismatch",
        /// A query parameter is invalid.
        InvalidParameter = "invalid_parameter",
        /// A line of an import is not JSON.
        InvalidJson = "invalid_json",
        /// A line of an import is over the limit.
        LineTooLong = "line_too_long",
        /// The cursor is invalid, or of another store or list.
        InvalidCursor = "invalid_cursor",
    }
}

impl ContextFault {
    /// The fault for an invalid member.
    pub fn field(path: impl Into<String>, expected: &str) -> Self {
        let path = path.into();
        let message = format!("`{path}` must be {expected}.");
        Self { code: Code::InvalidSchema, field: Some(path), message }
    }

    /// The fault for a missing required member (AP-19).
    pub fn missing(path: impl Into<String>) -> Self {
        let path = path.into();
        let message = format!("`{path}` is required.");
        Self { code: Code::InvalidSchema, field: Some(path), message }
    }

    /// The fault for a body that is invalid as a whole.
    pub fn whole(message: &str) -> Self {
        Self { code: Code::InvalidSchema, field: None, message: message.to_owned() }
    }

    /// The fault for content that does not match the hash in its name.
    pub fn other_content() -> Self {
        let message = "The SHA-256 of the body differs from the one in the path.".to_owned();
        Self { code: Code::HashMismatch, field: Some("sha256".to_owned()), message }
    }

    /// The fault for an invalid query parameter.
    pub fn parameter(name: &str, expected: &str) -> Self {
        let message = format!("`{name}` must be {expected}.");
        Self { code: Code::InvalidParameter, field: Some(name.to_owned()), message }
    }
}
