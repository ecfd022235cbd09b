//! The first fault of a request: where it is, its code, and what is said. Pure.
//! Must not know: which body a refusal has.

use std::borrow::Cow;

use plenary_kernel::Refusal;

use crate::shape::Manner;

/// Where one is, from the outermost object inwards.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    outer: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Top,
    Name(&'a str),
    Item(usize),
}

/// What does not fit its shape.
#[derive(Debug, Clone)]
pub struct Misfit {
    /// The path of the object it is in, or of the item; empty at the top.
    pub within: String,
    /// The member of that object; empty where the object itself is meant.
    pub name: String,
    /// The stable code.
    pub code: &'static str,
    /// What is said of it: the rest of a sentence that begins with the path.
    pub says: Cow<'static, str>,
    /// How the room speaks.
    pub manner: &'static Manner,
}

impl<'a> Path<'a> {
    /// The outermost object.
    pub const TOP: Self = Self { outer: None, step: Step::Top };

    /// A member.
    #[must_use]
    pub const fn member(&'a self, name: &'a str) -> Self {
        Self { outer: Some(self), step: Step::Name(name) }
    }

    /// An item of a list.
    #[must_use]
    pub const fn item(&'a self, nth: usize) -> Self {
        Self { outer: Some(self), step: Step::Item(nth) }
    }

    /// The object or list that this is in.
    #[must_use]
    pub const fn around(&self) -> Self {
        match self.outer {
            Some(outer) => *outer,
            None => Self::TOP,
        }
    }

    /// `payload.question.options[1].label`.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = self.outer.map(Path::render).unwrap_or_default();
        match self.step {
            Step::Top => {}
            Step::Name(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Item(nth) => text.push_str(&format!("[{nth}]")),
        }
        text
    }

    /// A fault here.
    #[must_use]
    pub fn misfit(
        &self,
        manner: &'static Manner,
        code: &'static str,
        says: impl Into<Cow<'static, str>>,
    ) -> Misfit {
        let (within, name) = match (self.step, self.outer) {
            (Step::Name(name), Some(outer)) => (outer.render(), name.to_owned()),
            (Step::Top | Step::Name(_) | Step::Item(_), _) => (self.render(), String::new()),
        };
        Misfit { within, name, code, says: says.into(), manner }
    }
}

impl Misfit {
    /// Where it is, as a path from the outermost object.
    #[must_use]
    pub fn path(&self) -> String {
        match (self.within.is_empty(), self.name.is_empty()) {
            (_, true) => self.within.clone(),
            (true, false) => self.name.clone(),
            (false, false) => format!("{}.{}", self.within, self.name),
        }
    }

    /// The whole sentence, as the room writes it.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Manner { quote, stop, .. } = self.manner;
        let path = self.path();
        if path.is_empty() {
            return format!("{}{stop}", self.says.trim_start_matches(": "));
        }
        format!("{quote}{path}{quote}{}{stop}", self.says)
    }
}

impl From<Misfit> for Refusal {
    fn from(misfit: Misfit) -> Self {
        Self::new(misfit.manner.class, misfit.code, misfit.sentence())
    }
}
