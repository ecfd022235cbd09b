//! Access to tables beside the log: connections for a purpose, one writer at a time, text and positions in their
//! stored form.
//! Must not know: the content of those tables.

pub use crate::{
    lead::{Lead, LeadHolder},
    pool::Pool,
    target::{Purpose, Target, place, stored},
    trouble::Trouble,
};

/// Text as a column can hold it.
pub mod text {
    pub use crate::text::{plain, stored};
}
