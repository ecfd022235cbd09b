//! What a value must be. Pure.
//! Must not know: which values there are, or what is said about a wrong one.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Number;

use crate::shape::Shape;

/// What a value must be.
#[derive(Debug)]
pub enum Form {
    /// Anything at all, which is kept as it was sent.
    Any,
    /// Text of so many units.
    Text(Unit, Bounds),
    /// The same, on one line.
    Line(Unit, Bounds),
    /// The same, without what a reader does not see.
    Shown(Unit, Bounds),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Text of a grammar.
    Of(&'static Grammar),
    /// An integer, written without fraction or exponent.
    Integer(Bounds),
    /// An integer however it is written: 5.0 is 5.
    Whole(Bounds),
    /// Any integer; what is out of bounds is brought within.
    Clamped(Bounds),
    /// A number between two integers.
    Number(Bounds),
    /// A boolean.
    Flag,
    /// A boolean of a query.
    Switch(&'static Switch),
    /// A list.
    List(&'static List),
    /// An object of a shape.
    Object(&'static Shape),
    /// Any object.
    Map,
    /// JSON of a form of its own.
    Json(&'static Json),
}

/// In what a text is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Bytes,
    /// Characters: Unicode scalar values.
    Characters,
}

/// A number that may be from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
    /// Whether only the most is said.
    pub is_at_most: bool,
}

/// What a text must be that is read into a type.
#[derive(Debug)]
pub struct Grammar {
    /// What it is, for people.
    pub wants: &'static str,
    /// What is wrong with a text, as the rest of a sentence: `: …` or ` must …`.
    pub check: fn(&str) -> Result<(), String>,
    /// Its JSON schema.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The words of a boolean in a query.
#[derive(Debug)]
pub struct Switch {
    /// Those that mean true; in lower case where case does not matter.
    pub on: &'static [&'static str],
    /// Those that mean false.
    pub off: &'static [&'static str],
    /// Whether case matters.
    pub is_exact: bool,
}

/// What a list must be.
#[derive(Debug)]
pub struct List {
    /// How many.
    pub items: Bounds,
    /// What each must be.
    pub of: Form,
    /// What they are called: `handles`; when empty, what they are is said in full.
    pub noun: &'static str,
    /// What is said where it is no list, or one of its items is of another type; the same as of a wrong number when
    /// empty.
    pub type_says: &'static str,
    /// Whether items that are equal count once.
    pub is_set: bool,
}

/// What JSON must be that is read by its own code.
#[derive(Debug)]
pub struct Json {
    /// What is wrong with it, as a sentence of its own.
    pub check: fn(&str) -> Result<(), String>,
    /// Its JSON schema.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// From `min` to `max`.
#[must_use]
pub const fn bounds(min: u64, max: u64) -> Bounds {
    Bounds { min, max, is_at_most: false }
}

/// At most `max`.
#[must_use]
pub const fn at_most(max: u64) -> Bounds {
    Bounds { min: 0, max, is_at_most: true }
}

impl Bounds {
    /// Whether a number is within.
    #[must_use]
    pub const fn hold(self, number: u64) -> bool {
        self.min <= number && number <= self.max
    }

    /// Whether a number is within that may have a fraction, or has none.
    pub(crate) fn hold_float(self, number: &Number, is_whole: bool) -> bool {
        let Some(number) = number.as_f64() else { return false };
        let (min, max) = (as_float(self.min), as_float(self.max));
        (min..=max).contains(&number) && (!is_whole || number.fract() == 0.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounds are at most 2^53-1, which is exact")]
fn as_float(bound: u64) -> f64 {
    bound as f64
}

impl Switch {
    /// What a word means.
    #[must_use]
    pub fn read(&self, word: &str) -> Option<bool> {
        let word = if self.is_exact { word.to_owned() } else { word.to_ascii_lowercase() };
        let is_among = |words: &[&str]| words.contains(&word.as_str());
        if is_among(self.on) { Some(true) } else { is_among(self.off).then_some(false) }
    }
}

impl Unit {
    /// How much of it a text has.
    #[must_use]
    pub fn of(self, text: &str) -> u64 {
        match self {
            Self::Bytes => text.len() as u64,
            Self::Characters => text.chars().count() as u64,
        }
    }
}

impl Grammar {
    /// What `T` is read from.
    #[must_use]
    pub const fn of<T: FromStr<Err: fmt::Display> + JsonSchema>(wants: &'static str) -> Self {
        Self {
            wants,
            check: |text| text.parse::<T>().map(drop).map_err(|wrong| format!(": {wrong}")),
            schema: |generator| generator.subschema_for::<T>(),
        }
    }

    /// The same, of which is only said what it is.
    #[must_use]
    pub const fn plain<T: FromStr + JsonSchema>(wants: &'static str) -> Self {
        Self {
            wants,
            check: |text| text.parse::<T>().map(drop).map_err(|_| String::new()),
            schema: |generator| generator.subschema_for::<T>(),
        }
    }
}
