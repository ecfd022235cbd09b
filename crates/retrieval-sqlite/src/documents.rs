//! The document data that a search needs, in memory: thirteen bytes for each document, read at the first search
//! in its
//! project, and dropped when many others were searched since.
//! Must not know: words, the file.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use plenary_kernel::Position;
use plenary_retrieval::{Extent, Scope};

/// Size of the cached projects, in bytes. A larger project is cached alone.
pub(crate) const PROJECTS_BYTES_MAX: usize = 64 << 20;
/// Bytes of a project without its documents.
const PROJECT_BYTES: usize = 256;
/// Bytes of a document.
const ENTRY_BYTES: usize = 13;

/// The state of the whole index; the file has it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of writes: two states of the file with the same number are equal.
    pub(crate) writes: i64,
    pub(crate) cursor: Position,
    pub(crate) live: u64,
}

impl Head {
    pub(crate) fn extent(self) -> Extent {
        Extent { cursor: self.cursor, documents: self.live }
    }
}

/// The head, and the cached projects.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) head: Head,
    cached: HashMap<String, CachedProject>,
    bytes: usize,
    /// Rises with every use.
    clock: u64,
}

#[derive(Debug)]
struct CachedProject {
    project: Arc<RwLock<Project>>,
    used: u64,
    bytes: usize,
}

/// The documents of a project, by their numbers in it. A number is never used again.
#[derive(Debug, Default)]
pub(crate) struct Project {
    /// The project's key in the file.
    pub(crate) key: i64,
    lengths: Vec<u32>,
    created_at_ms: Vec<i64>,
    drafts: Vec<bool>,
    live: u64,
    /// The sum of the lengths.
    length: u64,
}

/// A document, or a deleted one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) created_at_ms: i64,
    /// The weighted number of its words; 0 if it was deleted or replaced.
    pub(crate) length: u32,
    pub(crate) is_draft: bool,
}

impl Entry {
    pub(crate) fn new(created_at_ms: i64, length: u32, is_draft: bool) -> Self {
        // At least 1, because 0 means deleted.
        Self { created_at_ms, length: length.max(1), is_draft }
    }

    pub(crate) fn is_live(self) -> bool {
        self.length > 0
    }

    pub(crate) fn is_in(self, scope: &Scope) -> bool {
        self.is_live() && scope.has_time(self.created_at_ms) && !(scope.without_drafts && self.is_draft)
    }
}

impl Project {
    pub(crate) fn new(key: i64) -> Self {
        Self { key, ..Self::default() }
    }

    /// The number of documents.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// The sum of the lengths of all documents.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The length of each document, by its number; 0 for a deleted one.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    pub(crate) fn created_at_ms(&self, nr: usize) -> i64 {
        self.created_at_ms.get(nr).copied().unwrap_or_default()
    }

    pub(crate) fn entry(&self, nr: usize) -> Entry {
        let length = self.lengths.get(nr).copied().unwrap_or_default();
        let is_draft = self.drafts.get(nr).copied().unwrap_or_default();
        Entry { created_at_ms: self.created_at_ms(nr), length, is_draft }
    }

    /// Sets the entry of a document.
    pub(crate) fn set(&mut self, nr: u32, entry: Entry) {
        let nr = usize::try_from(nr).unwrap_or(usize::MAX);
        if self.lengths.len() <= nr {
            self.lengths.resize(nr + 1, 0);
            self.created_at_ms.resize(nr + 1, 0);
            self.drafts.resize(nr + 1, false);
        }
        self.live = self.live.saturating_sub(u64::from(self.lengths[nr] > 0)) + u64::from(entry.is_live());
        self.length = self.length.saturating_sub(u64::from(self.lengths[nr])) + u64::from(entry.length);
        (self.lengths[nr], self.created_at_ms[nr], self.drafts[nr]) =
            (entry.length, entry.created_at_ms, entry.is_draft);
    }

    fn bytes(&self) -> usize {
        PROJECT_BYTES + ENTRY_BYTES * self.lengths.capacity()
    }
}

impl Documents {
    /// Nothing is cached yet.
    pub(crate) fn new(head: Head) -> Self {
        Self { head, ..Self::default() }
    }

    /// A project, if it is cached.
    pub(crate) fn cached(&mut self, name: &str) -> Option<Arc<RwLock<Project>>> {
        self.clock += 1;
        let cached = self.cached.get_mut(name)?;
        cached.used = self.clock;
        Some(cached.project.clone())
    }

    /// Caches a project as it was in the file after `writes` writes, unless a later write is missing in it.
    pub(crate) fn keep(&mut self, name: &str, project: Project, writes: i64) -> Arc<RwLock<Project>> {
        if let Some(cached) = self.cached(name) {
            return cached;
        }
        let bytes = project.bytes();
        let project = Arc::new(RwLock::new(project));
        if writes == self.head.writes {
            let cached = CachedProject { project: project.clone(), used: self.clock, bytes };
            self.cached.insert(name.to_owned(), cached);
            self.bytes += bytes;
            self.make_room(name);
        }
        project
    }

    /// Changes a project, if it is cached.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Project)) {
        let Some(cached) = self.cached.get_mut(name) else { return };
        let mut project = cached.project.write();
        change(&mut project);
        self.bytes = self.bytes - cached.bytes + project.bytes();
        cached.bytes = project.bytes();
    }

    /// Drops the least recently used projects until half of the cache is free.
    fn make_room(&mut self, but: &str) {
        if self.bytes <= PROJECTS_BYTES_MAX {
            return;
        }
        let mut others: Vec<(u64, String)> = self
            .cached
            .iter()
            .filter(|(name, _)| *name != but)
            .map(|(name, cached)| (cached.used, name.clone()))
            .collect();
        others.sort_unstable();
        for (_, name) in others {
            if self.bytes <= PROJECTS_BYTES_MAX / 2 {
                break;
            }
            self.bytes -= self.cached.remove(&name).map_or(0, |cached| cached.bytes);
        }
    }

    /// Resets to an empty index.
    pub(crate) fn clear(&mut self, writes: i64) {
        *self = Self { head: Head { writes, ..Head::default() }, clock: self.clock, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(count: u32) -> Project {
        let mut project = Project::new(1);
        (0..count).for_each(|nr| project.set(nr, Entry::new(5, 10, false)));
        project
    }

    #[test]
    fn deleted_documents_do_not_count() {
        let mut project = project(2);
        project.set(1, Entry::new(6, 30, true));
        assert_eq!((project.live(), project.length(), project.entry(1)), (2, 40, Entry::new(6, 30, true)));
        project.set(1, Entry::default());
        project.set(1, Entry::default());
        assert_eq!((project.live(), project.length(), project.lengths()), (1, 10, &[10, 0][..]));
        assert!(!project.entry(1).is_live() && !project.entry(7).is_live());
    }

    #[test]
    fn a_project_of_an_older_state_is_used_but_not_cached() {
        let mut documents = Documents::default();
        documents.head.writes = 3;
        assert_eq!(documents.keep("p", project(1), 2).read().live(), 1);
        assert!(documents.cached("p").is_none());
        documents.keep("p", project(2), 3);
        documents.change("p", |project| project.set(7, Entry::new(0, 1, false)));
        assert_eq!(documents.cached("p").unwrap().read().live(), 3);
        assert_eq!(documents.keep("p", project(1), 3).read().live(), 3, "what is there stays");
        documents.clear(4);
        assert!(documents.cached("p").is_none() && documents.bytes == 0);
    }

    #[test]
    fn past_their_memory_the_projects_that_were_used_longest_ago_are_given_back() {
        let mut documents = Documents::default();
        let count = u32::try_from(PROJECTS_BYTES_MAX / ENTRY_BYTES / 4).unwrap();
        for name in ["a", "b", "c"] {
            let mut project = Project::new(1);
            project.set(count - 1, Entry::new(0, 1, false));
            documents.keep(name, project, 0);
        }
        documents.cached("a");
        let mut project = Project::new(1);
        project.set(2 * count, Entry::new(0, 1, false));
        documents.keep("d", project, 0);
        assert!(documents.bytes <= PROJECTS_BYTES_MAX);
        assert!(documents.cached("b").is_none() && documents.cached("d").is_some());
    }

    #[test]
    fn a_scope_is_a_window_and_may_leave_drafts_out() {
        let draft = Entry::new(5, 1, true);
        let since = |since_ms| Scope { since_ms: Some(since_ms), ..Scope::default() };
        assert!(draft.is_in(&Scope::default()) && draft.is_in(&since(5)) && !draft.is_in(&since(6)));
        assert!(!draft.is_in(&Scope { without_drafts: true, ..Scope::default() }));
        assert!(!Entry::default().is_in(&Scope::default()));
    }
}
