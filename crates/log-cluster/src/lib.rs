//! The log of several nodes: each node has the whole log in its own SQLite file; a shared journal orders
//! the records. One node at a time has the pen: it decides the appends of all nodes on its file. An
//! append is acknowledged when the journal and the file of a node other than the writing one have it on
//! disk, as long as there is such a node.
//! Must not know: any protocol, or the transport of the journal.

mod begin;
mod forms;
mod fresh;
mod keepers;
mod messages;
mod names;
mod node;
mod open;
mod others;
mod pens;
mod record;
mod signals;
mod verify;

use std::{sync::Arc, time::Duration};

use plenary_journal::{Journal, peers::Peers};

pub use begin::{BeginError, BeginReport, begin};
pub use keepers::Keep;
pub use messages::{Beat, take_the_pen};
pub use node::SETTLE_MAX;
pub use open::{OpenError, open};
pub use plenary_log_sqlite::StoreClose;
pub use record::{Damage, hash};
pub use verify::{Comparison, verify};

/// The journals and channels that the nodes of a cluster share.
#[derive(Clone)]
pub struct Journals {
    /// The journal of the log.
    pub log: Arc<dyn Journal>,
    /// The journal of signals, with short retention.
    pub signals: Arc<dyn Journal>,
    /// The channel between the nodes of this cluster.
    pub peers: Arc<dyn Peers>,
}

/// The options of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its name, chosen by the operator.
    pub name: String,
    /// The nodes that must have a record before it is acknowledged.
    pub keep: Keep,
    /// The options of its file.
    pub sqlite: plenary_log_sqlite::Options,
    /// How often it looks for records without a hint.
    pub poll: Duration,
    /// How long a read waits to be as fresh as the journal; then the node's own file answers in its
    /// current state.
    pub fresh_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: String::new(),
            keep: Keep::default(),
            sqlite: plenary_log_sqlite::Options::default(),
            poll: Duration::from_millis(500),
            fresh_wait: Duration::from_millis(1_000),
        }
    }
}
