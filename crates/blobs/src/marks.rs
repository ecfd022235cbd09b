//! The blobs that this process has verified in their current state, so that a range of a large blob need not read the
//! whole blob. A blob that changes loses its mark.
//! Must not know: how a blob is verified.

use std::{collections::HashMap, sync::Arc};

use object_store::{ObjectMeta, path::Path as Key};
use parking_lot::{Mutex, MutexGuard};

/// Most blobs that are remembered; beyond it all marks are dropped, and blobs are verified again at
/// their next read.
const MARKS_MAX: usize = 65_536;

/// Identifies the verified state of a blob: its size, its time of writing, and the store's own tag (of a
/// file: its inode, time and size).
type ContentMark = (u64, i64, Option<String>);

fn seen(meta: &ObjectMeta) -> ContentMark {
    (meta.size, meta.last_modified.timestamp_micros(), meta.e_tag.clone())
}

/// The verified blobs. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    known: Arc<Mutex<HashMap<Key, ContentMark>>>,
    /// One blob is verified at a time: a reader that waited finds it done.
    pub(crate) verifying: Arc<tokio::sync::Mutex<()>>,
}

impl Marks {
    fn known(&self) -> MutexGuard<'_, HashMap<Key, ContentMark>> {
        self.known.lock()
    }

    /// Whether the blob was verified in this state.
    pub(crate) fn has(&self, key: &Key, meta: &ObjectMeta) -> bool {
        self.known().get(key) == Some(&seen(meta))
    }

    /// Marks the blob as verified in this state.
    pub(crate) fn add(&self, key: &Key, meta: &ObjectMeta) {
        let mut known = self.known();
        if known.len() >= MARKS_MAX {
            known.clear();
        }
        known.insert(key.clone(), seen(meta));
    }
}
