//! The in-memory data of each document, which a search needs for every match. Sixteen bytes each.
//! Must not know: words, the file.

use std::collections::HashMap;

use plenary_kernel::Position;
use plenary_retrieval::{Extent, Scope};

/// All documents.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) projects: HashMap<String, Project>,
    pub(crate) cursor: Position,
    live: u64,
    /// The lengths of all documents together.
    length: u64,
}

/// The documents of a project, by their numbers in it. A number is never given twice.
#[derive(Debug, Default)]
pub(crate) struct Project {
    /// What the file calls it.
    pub(crate) key: i64,
    entries: Vec<Entry>,
    live: u64,
}

/// A document, or what was one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) created_at_ms: i64,
    /// How many words it has, weighted; 0 for one that was deleted or replaced.
    length: u32,
    is_draft: bool,
}

impl Entry {
    const GONE: Self = Self { created_at_ms: 0, length: 0, is_draft: false };

    pub(crate) fn new(created_at_ms: i64, length: u32, is_draft: bool) -> Self {
        // A document without words is one too.
        Self { created_at_ms, length: length.max(1), is_draft }
    }

    pub(crate) fn is_live(self) -> bool {
        self.length > 0
    }

    pub(crate) fn is_in(self, scope: &Scope) -> bool {
        self.is_live()
            && scope.since_ms.is_none_or(|since| self.created_at_ms >= since)
            && !(scope.without_drafts && self.is_draft)
    }

    pub(crate) fn length(self) -> u32 {
        self.length
    }

    pub(crate) fn is_draft(self) -> bool {
        self.is_draft
    }
}

impl Project {
    /// The number that the next document gets.
    pub(crate) fn next(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    /// How many documents there are.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn is_live(&self, nr: u32) -> bool {
        usize::try_from(nr).ok().and_then(|nr| self.entries.get(nr)).is_some_and(|entry| entry.is_live())
    }
}

impl Documents {
    pub(crate) fn extent(&self) -> Extent {
        Extent { cursor: self.cursor, documents: self.live }
    }

    /// How long a document usually is.
    #[expect(clippy::cast_precision_loss, reason = "seven digits of a mean are enough")]
    pub(crate) fn usual_length(&self) -> f32 {
        (self.length / self.live.max(1)).max(1) as f32
    }

    /// A project, begun where there is none.
    pub(crate) fn project(&mut self, name: &str, key: i64) -> &mut Project {
        let begun = || Project { key, ..Project::default() };
        self.projects.entry(name.to_owned()).or_insert_with(begun)
    }

    /// A document is there from now on.
    pub(crate) fn put(&mut self, project: &str, key: i64, nr: u32, entry: Entry) {
        let project = self.project(project, key);
        let nr = usize::try_from(nr).unwrap_or(usize::MAX);
        if project.entries.len() <= nr {
            project.entries.resize(nr + 1, Entry::GONE);
        }
        project.entries[nr] = entry;
        project.live += 1;
        self.live += 1;
        self.length += u64::from(entry.length);
    }

    /// A document is not there any more.
    pub(crate) fn remove(&mut self, project: &str, nr: u32) {
        let Some(project) = self.projects.get_mut(project) else { return };
        let nr = usize::try_from(nr).unwrap_or(usize::MAX);
        let Some(entry) = project.entries.get_mut(nr).filter(|entry| entry.is_live()) else { return };
        self.length -= u64::from(entry.length);
        *entry = Entry::GONE;
        project.live -= 1;
        self.live -= 1;
    }

    /// Numbers up to this one were given once.
    pub(crate) fn reserve(&mut self, project: &str, key: i64, next: u32) {
        let project = self.project(project, key);
        let next = usize::try_from(next).unwrap_or(usize::MAX);
        if project.entries.len() < next {
            project.entries.resize(next, Entry::GONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_given_twice_and_what_is_gone_does_not_count() {
        let mut documents = Documents::default();
        documents.put("p", 1, 0, Entry::new(5, 10, false));
        documents.put("p", 1, 1, Entry::new(6, 30, true));
        assert_eq!(documents.usual_length(), 20.0);
        documents.remove("p", 1);
        documents.remove("p", 1);
        documents.remove("q", 0);
        assert_eq!((documents.extent().documents, documents.usual_length()), (1, 10.0));
        let project = &documents.projects["p"];
        assert_eq!((project.next(), project.live()), (2, 1));
        assert!(project.is_live(0) && !project.is_live(1) && !project.is_live(2));
        documents.reserve("p", 1, 7);
        assert_eq!(documents.projects["p"].next(), 7);
    }

    #[test]
    fn a_scope_is_a_window_and_may_leave_drafts_out() {
        let draft = Entry::new(5, 1, true);
        let since = |since_ms| Scope { since_ms: Some(since_ms), ..Scope::default() };
        assert!(draft.is_in(&Scope::default()) && draft.is_in(&since(5)) && !draft.is_in(&since(6)));
        assert!(!draft.is_in(&Scope { without_drafts: true, ..Scope::default() }));
        assert!(!Entry::GONE.is_in(&Scope::default()));
    }
}
