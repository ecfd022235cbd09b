//! The names of indexes and the kinds of events in records and messages: they are interned permanently,
//! because the log requires static names.
//! names of the program.

use std::collections::HashSet;

use parking_lot::Mutex;

/// Most names; a journal with more is not valid.
const NAMES_MAX: usize = 4_096;

/// The interned name; `None` beyond the limit.
pub(crate) fn interned(name: &str) -> Option<&'static str> {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock();
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return Some(*known);
    }
    if names.len() >= NAMES_MAX {
        return None;
    }
    let leaked: &'static str = String::leak(name.to_owned());
    names.insert(leaked);
    Some(leaked)
}
