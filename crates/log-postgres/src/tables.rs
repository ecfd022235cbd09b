//! Access to tables besides the log: connections for a purpose, one writer at a time, text and positions
//! in their stored form.
//! Must not know: the content of those tables.

pub use crate::{
    lead::{Lead, LeadHolder},
    pool::Pool,
    target::{Purpose, Target, stored, unsigned},
    trouble::Trouble,
};

/// Text in the form that a column can store.
pub mod text {
    pub use crate::text::{plain, stored};
}
