//! The log of several nodes: each node keeps the whole log in its own SQLite file and decides appends on it; a shared
//! journal orders the records. An append is acknowledged when the journal and this node's file have it on disk.
//! Must not know: any protocol, or the transport of the journal.

mod fresh;
mod names;
mod node;
mod open;
mod record;
mod signals;
mod verify;

use std::{sync::Arc, time::Duration};

use plenary_journal::Journal;

pub use node::SETTLE_MAX;
pub use open::{OpenError, open};
pub use plenary_log_sqlite::StoreClose;
pub use record::{Damage, hash};
pub use verify::{Comparison, verify};

/// What a cluster's nodes share.
#[derive(Clone)]
pub struct Journals {
    /// The log's.
    pub log: Arc<dyn Journal>,
    /// That of signals, which forgets.
    pub signals: Arc<dyn Journal>,
}

/// How a node works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How its file is kept.
    pub sqlite: plenary_log_sqlite::Options,
    /// How often it looks for records that nobody told it of.
    pub poll: Duration,
    /// How long a read waits to be as fresh as the journal; past it the node's own file answers, as it is.
    pub fresh_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sqlite: plenary_log_sqlite::Options::default(),
            poll: Duration::from_millis(500),
            fresh_wait: Duration::from_millis(1_000),
        }
    }
}
