//! Several processes on a store in memory exchange signals as those on a real one do.

use plenary_log::{
    Opened,
    conformance::Store,
    rigged::{self, Process},
};

struct Rigged(rigged::Store);

impl Store for Rigged {
    async fn fresh() -> Self {
        Self(rigged::Store::new())
    }
    async fn open(&self) -> Opened {
        let Process { log, feed, .. } = self.0.process(true);
        Opened { log, feed }
    }
}

plenary_log::conformance!(@more Rigged, shared_signals);
