//! The reason why a request is not a valid package, fact, project or session: a code, and the field as a path.
//! Must not know: HTTP.

/// A fault of form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ContextFault {
    /// Which code.
    pub code: Code,
    /// Where, as a path: `deliverables[0].path`; absent where the whole is meant.
    pub field: Option<String>,
    /// For people.
    pub message: String,
}

/// What is wrong with the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A body is not of its shape (AP-54).
    InvalidSchema,
    /// A claimed content hash is not that of the package.
    HashMismatch,
    /// A parameter of the query is not of its shape.
    InvalidParameter,
    /// A line of an import is no JSON.
    InvalidJson,
    /// A line of an import is over the limit.
    LineTooLong,
    /// A cursor is of another store or list, or none at all.
    InvalidCursor,
}

impl Code {
    /// The stable text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSchema => "invalid_schema",
            Self::HashMismatch => "hash_mismatch",
            Self::InvalidParameter => "invalid_parameter",
            Self::InvalidJson => "invalid_json",
            Self::LineTooLong => "line_too_long",
            Self::InvalidCursor => "invalid_cursor",
        }
    }
}

impl ContextFault {
    /// A member that is not what it must be.
    pub fn field(path: impl Into<String>, expected: &str) -> Self {
        let path = path.into();
        let message = format!("`{path}` must be {expected}.");
        Self { code: Code::InvalidSchema, field: Some(path), message }
    }

    /// A member that is required and absent (AP-19).
    pub fn missing(path: impl Into<String>) -> Self {
        let path = path.into();
        let message = format!("`{path}` is required.");
        Self { code: Code::InvalidSchema, field: Some(path), message }
    }

    /// A body that is not of its shape as a whole.
    pub fn whole(message: &str) -> Self {
        Self { code: Code::InvalidSchema, field: None, message: message.to_owned() }
    }

    /// A content is another than its name says.
    #[must_use]
    pub fn other_content() -> Self {
        let message = "The SHA-256 of the body differs from the one in the path.".to_owned();
        Self { code: Code::HashMismatch, field: Some("sha256".to_owned()), message }
    }

    /// A parameter of the query that is not what it must be.
    pub fn parameter(name: &str, expected: &str) -> Self {
        let message = format!("`{name}` must be {expected}.");
        Self { code: Code::InvalidParameter, field: Some(name.to_owned()), message }
    }
}
