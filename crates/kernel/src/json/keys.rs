//! The member names of all open objects, to detect duplicates.
//! Must not know: their positions in the text.

use std::{borrow::Cow, collections::HashSet};

/// Up to this number, names are compared one by one. Larger objects use a hash set, so that the work stays linear.
const LINEAR_MAX: usize = 16;

/// The names of all open objects, innermost last, in one allocation.
#[derive(Default)]
pub(super) struct Keys<'a> {
    stack: Vec<Cow<'a, [u8]>>,
}

/// The names of one open object.
pub(super) struct Names<'a> {
    start: usize,
    hashed: Option<HashSet<Cow<'a, [u8]>>>,
}

impl<'a> Keys<'a> {
    pub(super) fn open(&mut self) -> Names<'a> {
        if self.stack.capacity() == 0 {
            self.stack.reserve(LINEAR_MAX);
        }
        Names { start: self.stack.len(), hashed: None }
    }

    /// Adds a name to its object; false if the object has it already.
    pub(super) fn add(&mut self, names: &mut Names<'a>, name: Cow<'a, [u8]>) -> bool {
        if let Some(hashed) = &mut names.hashed {
            return hashed.insert(name);
        }
        let known = &self.stack[names.start..];
        if known.contains(&name) {
            return false;
        }
        if known.len() < LINEAR_MAX {
            self.stack.push(name);
        } else {
            let mut hashed: HashSet<_> = self.stack.drain(names.start..).collect();
            hashed.insert(name);
            names.hashed = Some(hashed);
        }
        true
    }

    pub(super) fn close(&mut self, names: &Names<'a>) {
        self.stack.truncate(names.start);
    }
}
