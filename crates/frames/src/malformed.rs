//! The reason why the peer's bytes are not a valid frame, scope or filter: one code of the memo's list, and the
//! field.
//! Must not know: HTTP.

/// A fault of form (sections 8 and 10 of the memo).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct FrameFault {
    /// Which of the codes.
    pub code: Code,
    /// Where, as a path: `payload.question.options[1].label`; absent where no field is concerned.
    pub field: Option<String>,
    /// For people.
    pub message: String,
}

/// What is wrong with the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The `envelope_version` is not spoken here.
    EnvelopeVersionUnsupported,
    /// The kind is outside the catalogue.
    KindUnknown,
    /// The payload is not of its kind at all.
    PayloadKindMismatch,
    /// A required field is absent.
    FieldMissing,
    /// A field's value is outside its constraints, or the text is no acceptable JSON.
    FieldInvalid,
    /// A field that the shape does not have.
    FieldUnknown,
    /// The frame, or the body around it, is larger than it may be.
    TooLarge,
    /// A filter names an axis that there is not.
    FilterAxisUnknown,
    /// A filter's value is none of its axis.
    FilterValueInvalid,
}

impl Code {
    /// The stable text. That a frame is too large has no code of its own: it is an invalid field.
    #[must_use]
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

    /// A fault of the whole.
    pub fn whole(code: Code, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into() }
    }

    /// A parameter that the operation does not have: it would be passed over, and do what nobody asked for.
    pub fn no_parameter(code: Code, name: &str, known: &[&str]) -> Self {
        Self::of(code, name, format!("There is no such parameter; the parameters are {}.", known.join(", ")))
    }

    /// An invalid value of something beside the frame: a parameter or a header.
    pub fn parameter(name: &str, expected: &str) -> Self {
        Self::of(Code::FieldInvalid, name, format!("`{name}` must be {expected}."))
    }
}
