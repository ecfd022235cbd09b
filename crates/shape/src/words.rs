//! What a value must be, in words, as the end of a sentence. Pure.
//! Must not know: which shapes there are.

use std::fmt;

use crate::{
    form::{Bounds, Form, List, Unit},
    shape::{Field, Manner},
};

impl Field {
    /// What its value must be, as a room says it.
    #[must_use]
    pub fn words(&self, manner: &Manner) -> String {
        if self.wants.is_empty() { self.form.words(manner) } else { self.wants.to_owned() }
    }
}

impl Form {
    /// What a value must be, as a room says it.
    pub(crate) fn words(&self, manner: &Manner) -> String {
        let (Self::Integer(bounds) | Self::Whole(bounds)) = self else { return self.to_string() };
        format!("{}{bounds}", manner.integer)
    }

    /// What is said of a value of another type.
    pub(crate) fn type_words(&self, manner: &Manner) -> String {
        if let Self::List(List { type_says, .. }) = self
            && !type_says.is_empty()
        {
            return (*type_says).to_owned();
        }
        if manner.types_first && self.is_of_text() { "a string".to_owned() } else { self.words(manner) }
    }

    fn is_of_text(&self) -> bool {
        matches!(self, Self::Text(..) | Self::Line(..) | Self::Shown(..) | Self::OneOf(_) | Self::Of(_))
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any | Self::Json(_) => f.write_str("any value"),
            Self::Text(_, Bounds { min: 0, max: u64::MAX, .. }) => f.write_str("a string"),
            Self::Text(unit, bounds) | Self::Shown(unit, bounds) => write!(f, "a string of {bounds} {unit}"),
            Self::Line(unit, bounds) => write!(f, "a string of {bounds} {unit} on one line"),
            Self::OneOf(texts) => write!(f, "one of \"{}\"", texts.join("\", \"")),
            Self::Of(grammar) => f.write_str(grammar.wants),
            Self::Integer(_) | Self::Whole(_) | Self::Clamped(_) => f.write_str("an integer"),
            Self::Number(bounds) => write!(f, "a number from {bounds}"),
            Self::Flag | Self::Switch(_) => f.write_str("true or false"),
            Self::List(list) => list.fmt(f),
            Self::Object(_) | Self::Map => f.write_str("an object"),
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.items;
        if !self.noun.is_empty() {
            return write!(f, "a list of {items} {}", self.noun);
        }
        let Form::Text(unit, bounds) = &self.of else { return write!(f, "{items} objects") };
        write!(f, "{items} strings of {bounds} {unit} each")
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Characters => "characters",
        })
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_at_most {
            return write!(f, "at most {}", self.max);
        }
        write!(f, "{} to {}", self.min, self.max)
    }
}
