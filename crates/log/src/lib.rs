//! The log: the interface of every store, and the rules of an append.
//! It knows bytes, streams and versions. Must not know: any protocol, or any database.

mod audit;
mod batch;
mod chain;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod copy;
mod created_once;
mod digest;
mod event;
mod facade;
mod fault;
mod high_water;
mod index_rows;
mod measured;
mod memory;
mod page;
mod plan;
mod reads;
#[cfg(feature = "rigged")]
pub mod rigged;
pub mod signals;
mod usage;

pub use audit::{Audit, AuditVisitor, FINDINGS_MAX, Finding, Walk};
pub use batch::{AppendedRange, Batch, Condition, IndexOp, KeyClaim, KeyRecord, Outcome, Row, RowOp};
pub use chain::Chain;
pub use digest::Digest;
pub use event::{NewEvent, StoredEvent, StreamName};
pub use facade::{Channel, Feed, Feeder, Job, Jobs, Log, OpenedLog, Pending, Reply, Slot, channel};
pub use fault::Fault;
pub use high_water::HighWater;
pub use index_rows::IndexRows;
pub use measured::AppendMetrics;
pub use memory::open_memory;
pub use page::PageSize;
pub use plan::{Lookup, PlanResult, Writes, plan};
pub use reads::{FoundRow, IndexRow, Order, Read, Reads, STREAMS_BYTES_MAX, StreamNews};
pub use signals::Signals;
pub use usage::{
    AccountsMax, Change, Charge, ExceededQuota, Ledger, Pledge, QuotaRule, USAGE_AGE_MAX, Usage, UsageMax,
    account_of, account_of_peer,
};

/// Most jobs that wait for the writer; beyond it a caller waits in `Log::reserve`.
pub const JOBS_WAITING_MAX: usize = 4_096;
/// Most jobs in one commit; the rest waits for the next.
pub const JOBS_PER_COMMIT_MAX: usize = 512;
/// Most committed batches that wait for the feed's reader; beyond it the writer waits.
pub const FEED_WAITING_MAX: usize = 1_024;
