//! How tables beside the log are read and written: connections for a purpose, one writer at a time, text and places as
//! they are stored.
//! Must not know: what stands in those tables.

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
