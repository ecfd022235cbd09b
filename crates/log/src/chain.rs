//! Chains: batches that were decided on top of each other before the first of them was written. A
//! version alone is not a sufficient condition: another writer's event may have the version that the
//! batch was decided on.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::StreamName;

/// A chain of batches on one stream. After the first one that is not written, no later one is written.
#[derive(Clone)]
pub struct Chain(Arc<Inner>);

struct Inner {
    stream: StreamName,
    broken: AtomicBool,
}

impl Chain {
    /// An empty chain.
    pub fn new(stream: StreamName) -> Self {
        Self(Arc::new(Inner { stream, broken: AtomicBool::new(false) }))
    }
    /// The stream whose events the batches are decided on.
    pub fn stream(&self) -> &StreamName {
        &self.0.stream
    }
    /// Whether the chain is broken: no more of its batches are written.
    pub fn is_broken(&self) -> bool {
        self.0.broken.load(Ordering::Acquire)
    }
    /// Breaks the chain: from now on none of its batches is written.
    pub fn break_off(&self) {
        self.0.broken.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let broken = if self.is_broken() { ", broken" } else { "" };
        write!(f, "Chain({}{broken})", self.0.stream)
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Chain {}
