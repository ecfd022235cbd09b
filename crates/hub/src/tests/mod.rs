//! The hub on the memory log, with a clock that tests set.

mod cursors;
mod dispatch;
mod nodes;
mod presence;
mod recent;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_kernel::{AgentHandle, Clock, Stamp, TimestampMs};
use plenary_log::rigged::{FaultControl, Process, Store};

use crate::Cursors;

/// A clock that tests set, with unique ids.
#[derive(Debug, Default)]
struct ByHand {
    now: AtomicU64,
    stamps: AtomicU64,
}

impl ByHand {
    fn pass(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ByHand {
    fn now(&self) -> TimestampMs {
        TimestampMs(self.now.load(Ordering::Relaxed))
    }
    fn stamp(&self) -> Stamp {
        let nth = self.stamps.fetch_add(1, Ordering::Relaxed);
        let mut entropy = [0; 10];
        entropy[2..].copy_from_slice(&nth.to_be_bytes());
        Stamp::new(self.now(), entropy)
    }
}

fn agent(name: &str) -> AgentHandle {
    format!("@o.{name}").parse().unwrap()
}

/// A process on a store, and its cursors.
struct Server {
    cursors: Cursors,
    log: plenary_log::Log,
    rigging: FaultControl,
}

fn server(store: &Store, clock: &Arc<ByHand>, shared: bool) -> Server {
    let Process { log, rigging, .. } = store.process(shared);
    Server { cursors: Cursors::new(log.clone(), clock.clone()), log, rigging }
}
