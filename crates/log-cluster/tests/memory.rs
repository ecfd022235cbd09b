//! The backend passes the log's suite over a journal in memory: on one replica, on several, on one that is built anew
//! each time, and with a journal that loses answers and hints.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use plenary_journal::memory::{Memory, Rig};
use plenary_log::{OpenedLog, conformance};
use plenary_log_cluster::{Journals, Options, StoreClose, open};

/// How nodes are started.
trait Manner: Send + Sync + 'static {
    const MUTE: bool = false;
    const ANEW: bool = false;
    const FAULTS: bool = false;
}

struct Cluster<M> {
    directory: tempfile::TempDir,
    log: Memory,
    signals: Memory,
    nodes: AtomicUsize,
    closing: Mutex<Vec<StoreClose>>,
    manner: std::marker::PhantomData<M>,
}

impl<M: Manner> Cluster<M> {
    fn replica(&self) -> PathBuf {
        self.directory.path().join(self.nodes.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

impl<M: Manner> conformance::Store for Cluster<M> {
    async fn fresh() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            log: Memory::new(),
            signals: Memory::new(),
            nodes: AtomicUsize::new(0),
            closing: Mutex::default(),
            manner: std::marker::PhantomData,
        }
    }
    async fn open(&self) -> OpenedLog {
        if M::MUTE {
            self.log.rig(Rig::Mute(true));
            self.signals.rig(Rig::Mute(true));
        }
        if M::FAULTS {
            self.log.rig(Rig::LoseAnswers(3));
            self.log.rig(Rig::LosePublications(2));
            self.log.rig(Rig::Conflict(2));
        }
        let journals = Journals {
            log: Arc::new(self.log.clone()),
            signals: Arc::new(self.signals.clone()),
            peers: Arc::new(self.log.clone()),
        };
        let options = Options { poll: Duration::from_millis(20), ..Options::default() };
        let (opened, closing) = open(&self.replica(), journals, options).await.expect("the node starts");
        self.closing.lock().expect("no panic held it").push(closing);
        opened
    }
    async fn closed(&self) {
        let closing = std::mem::take(&mut *self.closing.lock().expect("no panic held it"));
        for closing in closing {
            closing.wait().await;
        }
        if !M::ANEW {
            self.nodes.store(0, Ordering::Relaxed);
        }
    }
}

struct Plain;
impl Manner for Plain {}

struct Mute;
impl Manner for Mute {
    const MUTE: bool = true;
}

struct Anew;
impl Manner for Anew {
    const ANEW: bool = true;
    const FAULTS: bool = true;
}

mod plain {
    use super::{Cluster, Plain};
    plenary_log::conformance!(Cluster<Plain>, durable, shared);
}

mod without_hints {
    use super::{Cluster, Mute};
    // Signals between processes are not fast without hints, so what waits for them is left out.
    plenary_log::conformance!(Cluster<Mute>, durable);
}

mod anew_and_with_faults {
    use super::{Anew, Cluster};
    plenary_log::conformance!(Cluster<Anew>, durable, shared);
}
