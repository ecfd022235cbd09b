//! The reason why the peer's bytes are not a valid frame, scope or filter: one code of the memo's list, and the
//! field.
//! Must not know: HTTP.

/// A fault of form (sections 8 and 10 of the memo).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct FrameFault {
    /// The code.
    pub code: Code,
    /// The field as a path: `payload.question.options[1].label`; absent if no field is concerned.
    pub field: Option<String>,
    /// A text for people.
    pub message: String,
}

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The `envelope_version` is not supported.
    EnvelopeVersionUnsupported,
    /// The kind is outside the catalogue.
    KindUnknown,
    /// The payload does not belong to its kind at all.
    PayloadKindMismatch,
    /// A required field is absent.
    FieldMissing,
    /// A field's value violates its constraints, or the text is not acceptable JSON.
    FieldInvalid,
    /// The shape has no such field.
    FieldUnknown,
    /// The frame, or the body around it, exceeds its limit.
    TooLarge,
    /// A filter names an unknown axis.
    FilterAxisUnknown,
    /// A filter's value is invalid for its axis.
    FilterValueInvalid,
}

impl Code {
    /// The stable text. `TooLarge` has no code of its own: it is an invalid field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EnvelopeVersionUnsupported => "envelope-version-unsupported",
            Self::KindUnknown => "kind-unknown",
            Self::PayloadKindMismatch => "payload-kind-mismatch",
            Self::FieldMissing => "field-missing",
            Self::FieldInvalid | Self::TooLarge => "field-invalid",
            Self::FieldUnknown => "field-unknown",
            Self::FilterAxisUnknown => "filter-axis-unknown",
            Self::FilterValueInvalid => "filter-value-invalid",
        }
    }
}

impl FrameFault {
    /// A fault in a field.
    pub fn of(code: Code, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, field: Some(field.into()), message: message.into() }
    }

    /// A fault of the whole frame.
    pub fn whole(code: Code, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into() }
    }

    /// An unknown parameter: ignoring it would carry out another request than intended.
    pub fn no_parameter(code: Code, name: &str, known: &[&str]) -> Self {
        Self::of(code, name, format!("There is no such parameter; the parameters are {}.", known.join(", ")))
    }

    /// An invalid value outside the frame: of a parameter or a header.
    pub fn parameter(name: &str, expected: &str) -> Self {
        Self::of(Code::FieldInvalid, name, format!("`{name}` must be {expected}."))
    }
}
