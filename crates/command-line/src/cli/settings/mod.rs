//! Settings of other programs, changed without affecting their other content: JSON with comments, marked blocks of
//! TOML.
//! Must not know: the programs, or the meaning of their settings.

mod block;
mod diff;
mod edit;
mod file;
mod tree;

pub(crate) use block::{with_block, without_block};
pub(crate) use diff::diff;
pub(crate) use edit::{Document, Step};
pub(crate) use file::File;

/// Why settings cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SettingsError(pub(crate) String);

impl SettingsError {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
