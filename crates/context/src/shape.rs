//! Checks the shapes of the members of a JSON object, and reports the path of an invalid one.
//! Must not know: the set of members.

use plenary_kernel::json::Tree;

use crate::{limits::ID_BYTES_MAX, malformed::ContextFault, moment::Moment};

/// An object with its path as a prefix: `created_by.`, `deliverables[0].`, or empty.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'a> {
    members: &'a Tree<'a>,
    at: String,
}

impl<'a> Shape<'a> {
    /// The outermost value.
    pub(crate) fn root(value: &'a Tree<'a>) -> Result<Self, ContextFault> {
        if value.members().is_none() {
            return Err(ContextFault::whole("The body must be a JSON object."));
        }
        Ok(Self { members: value, at: String::new() })
    }

    /// The object at a path.
    pub(crate) fn at(path: &str, value: &'a Tree<'a>) -> Result<Self, ContextFault> {
        if value.members().is_none() {
            return Err(ContextFault::field(path, "an object"));
        }
        Ok(Self { members: value, at: format!("{path}.") })
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.at)
    }

    pub(crate) fn wrong<T>(&self, name: &str, expected: &str) -> Result<T, ContextFault> {
        Err(ContextFault::field(self.path(name), expected))
    }

    /// The value of a member, if it is present.
    pub(crate) fn any(&self, name: &str) -> Option<&'a Tree<'a>> {
        self.members.get(name)
    }

    pub(crate) fn required(&self, name: &str) -> Result<&'a Tree<'a>, ContextFault> {
        self.any(name).ok_or_else(|| ContextFault::missing(self.path(name)))
    }

    /// A required text.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, ContextFault> {
        match self.required(name)?.text() {
            Some(text) => Ok(text),
            None => self.wrong(name, "a string"),
        }
    }

    /// An optional text, which must not be null.
    pub(crate) fn text_if(&self, name: &str) -> Result<Option<&'a str>, ContextFault> {
        self.any(name).map(|_| self.text(name)).transpose()
    }

    /// An optional text; null counts as absent.
    pub(crate) fn text_or_null(&self, name: &str) -> Result<Option<&'a str>, ContextFault> {
        match self.any(name) {
            None | Some(Tree::Null) => Ok(None),
            Some(Tree::Text(text)) => Ok(Some(&**text)),
            Some(_) => self.wrong(name, "a string or null"),
        }
    }

    /// A text of at least one byte and at most `bytes_max`.
    pub(crate) fn bounded(&self, name: &str, bytes_max: usize) -> Result<&'a str, ContextFault> {
        let text = self.text(name)?;
        if text.is_empty() || text.len() > bytes_max {
            return self.wrong(name, &format!("a string of 1 to {bytes_max} bytes"));
        }
        Ok(text)
    }

    /// An id that the client chose.
    pub(crate) fn id(&self, name: &str) -> Result<&'a str, ContextFault> {
        self.bounded(name, ID_BYTES_MAX)
    }

    /// The same, optional; null counts as absent.
    pub(crate) fn id_or_null(&self, name: &str) -> Result<Option<&'a str>, ContextFault> {
        match self.text_or_null(name)? {
            None => Ok(None),
            Some(_) => self.id(name).map(Some),
        }
    }

    /// One of a few words.
    pub(crate) fn word<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<T, ContextFault> {
        match parse(self.text(name)?) {
            Some(word) => Ok(word),
            None => self.wrong(name, expected),
        }
    }

    /// A time in UTC.
    pub(crate) fn moment(&self, name: &str) -> Result<Moment, ContextFault> {
        self.word(name, Moment::parse, "an RFC 3339 time that ends in Z or +00:00")
    }

    /// A time in UTC that is compared with others: with at most nanoseconds.
    pub(crate) fn exact_moment(&self, name: &str) -> Result<Moment, ContextFault> {
        const EXPECTED: &str =
            "an RFC 3339 time that ends in Z or +00:00, with at most nine digits after the second";
        self.word(name, Moment::exact, EXPECTED)
    }

    /// An array of texts; empty if absent.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&'a str>, ContextFault> {
        let items = match self.any(name) {
            None => return Ok(Vec::new()),
            Some(Tree::Array(items)) => items,
            Some(_) => return self.wrong(name, "an array of strings"),
        };
        let text = |(nth, item): (usize, &'a Tree<'a>)| {
            let wrong = || ContextFault::field(format!("{}[{nth}]", self.path(name)), "a string");
            item.text().ok_or_else(wrong)
        };
        items.iter().enumerate().map(text).collect()
    }

    /// An optional whole number within bounds.
    pub(crate) fn integer_if(
        &self,
        name: &str,
        within: std::ops::RangeInclusive<u64>,
        expected: &str,
    ) -> Result<(), ContextFault> {
        let Some(value) = self.any(name) else { return Ok(()) };
        // 5.0 is the integer 5, as in JSON Schema, and hashes like it.
        let (low, high) = (as_double(*within.start()), as_double(*within.end()));
        match value.number() {
            Some(number) if number.fract() == 0.0 && (low..=high).contains(&number) => Ok(()),
            _ => self.wrong(name, expected),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounds are at most 2^53-1, which is exact")]
fn as_double(bound: u64) -> f64 {
    bound as f64
}
