//! The language of the shapes of frames: fields, requirements on a value, rules between fields. Pure.
//! Must not know: the list of frames, or the use of a definition.

use crate::limits::{ITEMS_MAX, REFERENCE_BYTES_MAX, TEXT_BYTES_MAX};

/// An object with exactly these fields (section 12 of the memo).
#[derive(Debug)]
pub struct Shape {
    /// Its fields, in the order of the checks.
    pub fields: &'static [Field],
    /// The rules between them.
    pub rules: &'static [Rule],
}

/// One field of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name on the wire.
    pub name: &'static str,
    /// Whether it must be present. Null does not count as absent.
    pub required: bool,
    /// The form of its value.
    pub form: Form,
    /// Its purpose.
    pub description: &'static str,
}

/// The form of a value.
#[derive(Debug)]
pub enum Form {
    /// A member of the envelope that is checked before all others: the version or the kind.
    Selector,
    /// The kind's own shape.
    Payload,
    /// Text of limited length, in bytes of UTF-8.
    Text(Bounds),
    /// Text of limited length on one line.
    Line(Bounds),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A version-4 UUID.
    Uuid,
    /// A canonical handle.
    Handle,
    /// A canonical handle that must be the sender's own principal; this is checked after the shape.
    Principal,
    /// A canonical handle, optionally followed by `@version`.
    Instrument,
    /// An RFC 3339 time with a zone.
    Time,
    /// A recipient scope.
    Scope,
    /// An identifier within a namespace.
    Namespaced(Bounds),
    /// An integer, written without fraction or exponent.
    Integer(Bounds),
    /// A boolean.
    Flag,
    /// An array of texts.
    Texts {
        /// The number of items.
        items: Bounds,
        /// The bytes of each.
        bytes: Bounds,
    },
    /// An object.
    Object(&'static Shape),
    /// An array of objects.
    Objects {
        /// The number of items.
        items: Bounds,
        /// The shape of each.
        shape: &'static Shape,
    },
}

/// A range of numbers, with both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// A rule between the fields of an object, after each has been checked.
#[derive(Debug)]
pub enum Rule {
    /// The integer is an index, from 0, into the array.
    Index {
        /// The integer.
        index: &'static str,
        /// The array.
        array: &'static str,
    },
    /// At least one of these booleans is true; an absent one counts as true.
    OneIsTrue(&'static [&'static str]),
}

/// From `min` to `max`.
pub const fn bounds(min: u64, max: u64) -> Bounds {
    Bounds { min, max }
}

/// A required field.
pub const fn required(name: &'static str, form: Form, description: &'static str) -> Field {
    Field { name, required: true, form, description }
}

/// An optional field.
pub const fn optional(name: &'static str, form: Form, description: &'static str) -> Field {
    Field { name, required: false, form, description }
}

/// Text of 1 to 2048 bytes, the memo's bound for prose.
pub const PROSE: Form = Form::Text(bounds(1, TEXT_BYTES_MAX));
/// A reference: a pointer to an object, never the object itself (section 5.12).
pub const REFERENCE: Form = Form::Text(bounds(1, REFERENCE_BYTES_MAX));
/// An array of references.
pub const REFERENCES: Form =
    Form::Texts { items: bounds(0, ITEMS_MAX), bytes: bounds(1, REFERENCE_BYTES_MAX) };

impl Bounds {
    /// Whether a number is within the range.
    pub const fn hold(self, number: u64) -> bool {
        self.min <= number && number <= self.max
    }
}

impl Shape {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}
