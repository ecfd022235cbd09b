//! Export and import of whole projects: the records, and how they are written, checked and imported (AP-3, AP-76,
//! AP-77, AP-80).
//! Must not know: HTTP, except the form of refusals in a report.

mod arrivals;
mod cursor;
mod decide;
mod export;
mod fact;
mod history;
mod identity;
mod import;
mod merge;
mod news;
mod placement;
mod prediction;
mod record;
mod reference;
mod renames;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use cursor::{ExportCursor, Since};
pub(crate) use decide::Import;
pub(crate) use export::Exporter;
pub(crate) use import::Importer;
pub use record::Kind;
pub use report::Mode;
pub(crate) use report::Report;
