//! Several processes on a store in memory exchange signals as those on a real one do.

use plenary_log::{
    OpenedLog,
    conformance::Store,
    rigged::{self, Process},
};

struct FaultyStore(rigged::Store);

impl Store for FaultyStore {
    async fn fresh() -> Self {
        Self(rigged::Store::new())
    }
    async fn open(&self) -> OpenedLog {
        let Process { log, feed, .. } = self.0.process(true);
        OpenedLog { log, feed }
    }
}

plenary_log::conformance!(@more FaultyStore, shared_signals);
