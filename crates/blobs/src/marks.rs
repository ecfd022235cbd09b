//! The blobs that this process has verified in their current state, so that a range of a large blob need not read the
//! whole blob. A blob that changes loses its mark.
//! Must not know: how a blob is verified.

use std::{collections::HashMap, sync::Arc};

use object_store::{ObjectMeta, path::Path as Key};
use parking_lot::{Mutex, MutexGuard};

/// Most contents that are remembered; past it all are forgotten, and verified when they are asked for again.
const MARKS_MAX: usize = 65_536;

/// What tells a content that was changed from the one that was verified: its size, when it was written, and the mark of
/// its place (of a file: its inode, time and size).
type ContentMark = (u64, i64, Option<String>);

fn seen(meta: &ObjectMeta) -> ContentMark {
    (meta.size, meta.last_modified.timestamp_micros(), meta.e_tag.clone())
}

/// The contents that were verified. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    known: Arc<Mutex<HashMap<Key, ContentMark>>>,
    /// One content is verified at a time: who waits finds it done.
    pub(crate) verifying: Arc<tokio::sync::Mutex<()>>,
}

impl Marks {
    fn known(&self) -> MutexGuard<'_, HashMap<Key, ContentMark>> {
        self.known.lock()
    }

    /// Whether the content was verified as it stands there.
    pub(crate) fn has(&self, key: &Key, meta: &ObjectMeta) -> bool {
        self.known().get(key) == Some(&seen(meta))
    }

    /// The content is right as it stands there.
    pub(crate) fn add(&self, key: &Key, meta: &ObjectMeta) {
        let mut known = self.known();
        if known.len() >= MARKS_MAX {
            known.clear();
        }
        known.insert(key.clone(), seen(meta));
    }
}
