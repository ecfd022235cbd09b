//! Whole projects out and in: the records of an export, how they are written, checked and taken in (AP-3, AP-76, AP-77, AP-80).
//! Must not know: HTTP, but for the form of refusals that a report repeats.

mod arriving;
mod cursor;
mod decide;
mod export;
mod fact;
mod foretold;
mod history;
mod import;
mod merge;
mod news;
mod placing;
mod record;
mod reference;
mod renaming;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use cursor::{Place, Since};
pub(crate) use decide::Import;
pub(crate) use export::Exporter;
pub(crate) use import::Importer;
pub use record::Kind;
pub use report::Mode;
pub(crate) use report::Report;
