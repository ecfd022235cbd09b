//! The language in which requests are written down: fields, rules between fields, and the manner of a room. Pure.
//! Must not know: how a value is read.

use plenary_kernel::Class;

use crate::form::Form;

/// An object: its fields and what holds between them.
#[derive(Debug)]
pub struct Shape {
    /// Its name in the description; one without a name is described where it stands.
    pub name: &'static str,
    /// What it is; may be empty.
    pub says: &'static str,
    /// Its fields, in the order in which faults are looked for.
    pub fields: &'static [Field],
    /// What holds between them; checked after the fields.
    pub rules: &'static [Rule],
    /// How it is refused.
    pub manner: &'static Manner,
}

/// One field of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name on the wire.
    pub name: &'static str,
    /// Whether it may not be absent.
    pub required: bool,
    /// What its value must be.
    pub form: Form,
    /// What it is for.
    pub says: &'static str,
    /// The code of a wrong value; that of the manner when empty.
    pub code: &'static str,
    /// What the value must be, in words that replace those of the form; may be empty.
    pub wants: &'static str,
    /// What null is; as the manner says when absent.
    pub null: Option<Null>,
    /// What is said where it is absent; as the manner says when absent.
    pub missing: Option<Missing>,
}

/// What all objects of a room have in common.
#[derive(Debug)]
pub struct Manner {
    /// What kind of refusal it is.
    pub class: Class,
    /// What stands around the name of a field in a sentence.
    pub quote: &'static str,
    /// What ends a sentence.
    pub stop: &'static str,
    /// What stands before the bounds of an integer: `an integer from `.
    pub integer: &'static str,
    /// The code of a value that is not of its form, where the field has no code of its own.
    pub code: &'static str,
    /// The code and the sentence where the whole is no object.
    pub whole: (&'static str, &'static str),
    /// What is said where a member stands twice; only a query can have that.
    pub twice: Twice,
    /// What is said where a required field is absent.
    pub missing: Missing,
    /// What becomes of a member that is no field.
    pub unknown: Unknown,
    /// What null is.
    pub null: Null,
    /// In which order faults are found.
    pub order: Order,
    /// Whether a value that is no text is told apart from a text that is too long.
    pub types_first: bool,
    /// Where a fault of a list's item is.
    pub items: Items,
    /// Whether the description of a field says in words what its value must be.
    pub describes_forms: bool,
}

/// What is said where a required field is absent.
#[derive(Debug, Clone, Copy)]
pub enum Missing {
    /// The same as of a wrong value.
    AsWrong,
    /// These words, behind the name, with the code of the field.
    Says(&'static str),
    /// These words, with a code of its own.
    Code(&'static str, &'static str),
    /// This sentence, behind the path of the object that it is not in.
    Whole(&'static str),
}

/// What is said where a member stands twice.
#[derive(Debug, Clone, Copy)]
pub enum Twice {
    /// This code and this sentence.
    Whole(&'static str, &'static str),
    /// This code, and these words behind the name.
    Each(&'static str, &'static str),
}

/// What becomes of a member that is no field.
#[derive(Debug, Clone, Copy)]
pub enum Unknown {
    /// It is passed over.
    Ignored,
    /// It is kept, or handed on.
    Kept,
    /// It is refused with this code and these words.
    Refused(&'static str, &'static str),
}

/// What null is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Null {
    /// As good as absent.
    Absent,
    /// A value like any other, which fits no form.
    Wrong,
    /// As good as absent, and named among what the field takes.
    Named,
    /// A value of its own: it takes something away.
    Given,
}

/// In which order faults are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Field by field, whether absent or wrong.
    InTurn,
    /// What is absent before what is wrong.
    MissingFirst,
}

/// Where a fault of a list's item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// At the list.
    Whole,
    /// At the item: `tags[1]`.
    Each,
}

/// What holds between fields of an object, each of which fits.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// The integer counts, from 0, one item of the list.
    Index {
        /// The integer.
        index: &'static str,
        /// The list.
        of: &'static str,
    },
    /// Not all of these booleans are false; an absent one is true.
    OneIsTrue(&'static [&'static str]),
    /// At least one of these is there, else this code and these words.
    Some(&'static [&'static str], &'static str, &'static str),
    /// The first is there, and not false, only where the second is, which stands before it, else this code and these
    /// words. Checked in the turn of the first.
    With(&'static str, &'static str, &'static str, &'static str),
}

/// A field that must be there.
#[must_use]
pub const fn required(name: &'static str, form: Form, says: &'static str) -> Field {
    Field { name, required: true, form, says, code: "", wants: "", null: None, missing: None }
}

/// A field that may be absent.
#[must_use]
pub const fn optional(name: &'static str, form: Form, says: &'static str) -> Field {
    Field { name, required: false, form, says, code: "", wants: "", null: None, missing: None }
}

impl Field {
    /// The same where it may not be absent.
    #[must_use]
    pub const fn needed(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same with a code of its own.
    #[must_use]
    pub const fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// The same, refused with these words.
    #[must_use]
    pub const fn wants(mut self, wants: &'static str) -> Self {
        self.wants = wants;
        self
    }

    /// The same with other words where it is absent.
    #[must_use]
    pub const fn missing(mut self, missing: Missing) -> Self {
        self.missing = Some(missing);
        self
    }

    /// The same with another meaning of null.
    #[must_use]
    pub const fn null(mut self, null: Null) -> Self {
        self.null = Some(null);
        self
    }
}

impl Shape {
    /// A shape with a name.
    #[must_use]
    pub const fn new(name: &'static str, manner: &'static Manner, fields: &'static [Field]) -> Self {
        Self { name, says: "", fields, rules: &[], manner }
    }

    /// The same with rules between its fields.
    #[must_use]
    pub const fn rules(mut self, rules: &'static [Rule]) -> Self {
        self.rules = rules;
        self
    }

    /// The same with what it is.
    #[must_use]
    pub const fn says(mut self, says: &'static str) -> Self {
        self.says = says;
        self
    }

    /// The field of a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The names of its fields: the arguments of a request.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.name)
    }

    /// Where the value of a field stands.
    pub(crate) fn place(&self, name: &str) -> usize {
        self.fields
            .iter()
            .position(|field| field.name == name)
            .expect("only fields of the shape are asked for")
    }

    /// The code of a wrong value of a field.
    pub(crate) fn code_of(&self, field: &Field) -> &'static str {
        if field.code.is_empty() { self.manner.code } else { field.code }
    }

    /// What null is as a value of a field.
    #[must_use]
    pub fn null_of(&self, field: &Field) -> Null {
        field.null.unwrap_or(self.manner.null)
    }
}
