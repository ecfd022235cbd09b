//! All documents in memory, by project, with their codes in cells. A large search uses several cores.
//! Must not know: models, files.

use std::{
    cmp::Ordering,
    collections::HashMap,
    sync::{Arc, OnceLock},
    thread,
};

use plenary_retrieval::{PartHit, Scope};

use crate::{
    cells::{Cells, CodeLocation, Compared, Owner, Sizes, nearer},
    codes::Probe,
    journal_entry::{Entry, JournalEntry},
};

/// Bytes of codes above which a search uses several threads.
const PARALLEL_BYTES_MIN: usize = 16 << 20;
/// Most threads of a search: memory bandwidth limits the use of more.
const THREADS_MAX: usize = 4;
/// Codes that are read for each wanted hit, because a document has several.
const CODES_PER_HIT: usize = 8;

/// Memory of a vector without its components, and of a document without its vectors and its id, in bytes.
const VECTOR_BYTES: usize = 24;
const DOCUMENT_BYTES: usize = 192;

/// Memory of `count` vectors of a dimension, without their documents, in bytes.
pub(crate) fn vectors_bytes(count: usize, dimension: usize) -> usize {
    count * (dimension + VECTOR_BYTES)
}

/// The documents of all projects.
#[derive(Debug, Default)]
pub(crate) struct Projects {
    sizes: Sizes,
    numbers: HashMap<Arc<str>, u32>,
    projects: HashMap<u32, Project>,
    /// The project of each document, and its number in the project.
    locations: HashMap<Arc<str>, (u32, u32)>,
    /// The number of projects so far, dropped ones included.
    project_count: u32,
    bytes: usize,
}

#[derive(Debug)]
struct Project {
    name: Arc<str>,
    /// `None` while no document has vectors.
    cells: Option<Cells>,
    documents: Documents,
}

/// Documents by number; the number of a removed document is used again.
#[derive(Debug, Default)]
struct Documents {
    slots: Vec<Option<StoredDocument>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct StoredDocument {
    id: Arc<str>,
    created_at_ms: i64,
    is_draft: bool,
    digest: u64,
    /// The place of each part's code.
    locations: Box<[CodeLocation]>,
}

impl StoredDocument {
    fn is_in(&self, scope: &Scope) -> bool {
        scope.has_time(self.created_at_ms) && !(scope.without_drafts && self.is_draft)
    }
}

impl Documents {
    fn get(&self, nr: u32) -> Option<&StoredDocument> {
        usize::try_from(nr).ok().and_then(|nr| self.slots.get(nr))?.as_ref()
    }

    fn add(&mut self, document: StoredDocument) -> u32 {
        if let Some(nr) = self.free.pop() {
            if let Some(slot) = usize::try_from(nr).ok().and_then(|nr| self.slots.get_mut(nr)) {
                *slot = Some(document);
            }
            return nr;
        }
        self.slots.push(Some(document));
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    fn remove(&mut self, nr: u32) {
        let slot = usize::try_from(nr).ok().and_then(|nr| self.slots.get_mut(nr));
        if slot.and_then(Option::take).is_some() {
            self.free.push(nr);
        }
    }

    /// Records the new place of a part's code.
    fn moved(&mut self, owner: Owner, to: CodeLocation) {
        let slot = usize::try_from(owner.document).ok().and_then(|nr| self.slots.get_mut(nr));
        let location = slot
            .and_then(Option::as_mut)
            .and_then(|document| document.locations.get_mut(usize::from(owner.part)));
        if let Some(location) = location {
            *location = to;
        }
    }

    fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    fn living(&self) -> impl Iterator<Item = &StoredDocument> {
        self.slots.iter().flatten()
    }
}

impl Projects {
    pub(crate) fn documents(&self) -> usize {
        self.locations.len()
    }

    /// The number of vectors.
    #[cfg(test)]
    pub(crate) fn vectors(&self) -> usize {
        self.projects.values().filter_map(|project| project.cells.as_ref()).map(Cells::count).sum()
    }

    /// Used memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn apply(&mut self, change: JournalEntry) {
        match change {
            JournalEntry::Delete(id) => self.remove(&id),
            JournalEntry::Put(entry) => {
                self.remove(&entry.id);
                self.add(&entry);
            }
        }
    }

    fn add(&mut self, entry: &Entry) {
        let number = match self.numbers.get(entry.project.as_str()) {
            Some(number) => *number,
            None => {
                let name: Arc<str> = entry.project.as_str().into();
                self.project_count += 1;
                self.numbers.insert(name.clone(), self.project_count);
                let project = Project { name, cells: None, documents: Documents::default() };
                self.projects.insert(self.project_count, project);
                self.project_count
            }
        };
        let Some(project) = self.projects.get_mut(&number) else { return };
        let id: Arc<str> = entry.id.as_str().into();
        let nr = project.add(entry, id.clone(), self.sizes);
        self.bytes += project.bytes_of(nr);
        self.locations.insert(id, (number, nr));
    }

    fn remove(&mut self, id: &str) {
        let Some((number, nr)) = self.locations.remove(id) else { return };
        let Some(project) = self.projects.get_mut(&number) else { return };
        self.bytes -= project.bytes_of(nr);
        project.remove(nr);
        if project.documents.is_empty() {
            let name = project.name.clone();
            self.projects.remove(&number);
            self.numbers.remove(&name);
        }
    }

    fn stored(&self, id: &str) -> Option<(&Project, u32, &StoredDocument)> {
        let (number, nr) = self.locations.get(id)?;
        let project = self.projects.get(number)?;
        Some((project, *nr, project.documents.get(*nr)?))
    }

    /// A document with its codes.
    pub(crate) fn entry(&self, id: &str) -> Option<Entry> {
        let (project, _, document) = self.stored(id)?;
        let code = |location: &CodeLocation| project.cells.as_ref()?.code(*location);
        Some(Entry {
            id: id.to_owned(),
            project: project.name.to_string(),
            created_at_ms: document.created_at_ms,
            is_draft: document.is_draft,
            digest: document.digest,
            codes: document.locations.iter().filter_map(code).collect(),
        })
    }

    /// The digest of a document's parts.
    pub(crate) fn digest(&self, id: &str) -> Option<u64> {
        self.stored(id).map(|(_, _, document)| document.digest)
    }

    /// The ids of all documents.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.locations.keys().map(|id| &**id)
    }

    /// The documents of a scope with the best codes, best first; of equal ones the newer first.
    pub(crate) fn search(&self, probe: &Probe, scope: &Scope, limit: usize) -> Vec<PartHit> {
        let mut found = Vec::new();
        for name in &scope.projects {
            let project = self.numbers.get(name.as_str()).and_then(|number| self.projects.get(number));
            found.extend(project.map(|project| project.search(probe, scope, limit)).unwrap_or_default());
            keep_best(&mut found, limit);
        }
        found.sort_unstable_by(newer);
        let hit = |(compared, document): (Compared, &StoredDocument)| PartHit {
            id: document.id.to_string(),
            part: usize::from(compared.owner.part),
            score: f64::from(compared.score.min(1.0)),
        };
        found.into_iter().map(hit).collect()
    }
}

impl Project {
    /// Adds a document and returns its number.
    fn add(&mut self, entry: &Entry, id: Arc<str>, sizes: Sizes) -> u32 {
        let known = self.cells.as_ref().map(Cells::dimension);
        let dimension = known.or(entry.codes.first().map(|code| code.parts.len()));
        // Vectors of another dimension can't be compared.
        let fits =
            entry.codes.iter().all(|code| Some(code.parts.len()) == dimension && !code.parts.is_empty());
        let codes = if fits { entry.codes.as_slice() } else { &[] };
        let locations = vec![CodeLocation::default(); codes.len()].into_boxed_slice();
        let Entry { created_at_ms, is_draft, digest, .. } = *entry;
        let nr = self.documents.add(StoredDocument { id, created_at_ms, is_draft, digest, locations });
        let documents = &mut self.documents;
        for (part, code) in (0..).zip(codes) {
            let cells = self.cells.get_or_insert_with(|| Cells::new(code.parts.len(), sizes));
            let owner = Owner { document: nr, part };
            cells.add(code, owner, &mut |owner, location| documents.moved(owner, location));
        }
        nr
    }

    fn remove(&mut self, nr: u32) {
        for part in 0..self.documents.get(nr).map_or(0, |document| document.locations.len()) {
            // The removal of an earlier code may have moved this one.
            let Some(location) =
                self.documents.get(nr).and_then(|document| document.locations.get(part).copied())
            else {
                continue;
            };
            let documents = &mut self.documents;
            if let Some(cells) = &mut self.cells {
                cells.remove(location, &mut |owner, location| documents.moved(owner, location));
            }
        }
        self.documents.remove(nr);
    }

    /// Memory of a document, in bytes.
    fn bytes_of(&self, nr: u32) -> usize {
        let Some(document) = self.documents.get(nr) else { return 0 };
        let dimension = self.cells.as_ref().map_or(0, Cells::dimension);
        vectors_bytes(document.locations.len(), dimension) + document.id.len() + DOCUMENT_BYTES
    }

    /// The documents of a scope with the best codes, unordered.
    fn search(&self, probe: &Probe, scope: &Scope, limit: usize) -> Vec<(Compared, &StoredDocument)> {
        let Some(cells) = &self.cells else { return Vec::new() };
        let is_narrow = scope.since_ms.is_some() || scope.until_ms.is_some() || scope.without_drafts;
        let mut candidates = cells.count();
        if is_narrow && !cells.is_exact(candidates) {
            candidates = self
                .documents
                .living()
                .filter(|document| document.is_in(scope))
                .map(|document| document.locations.len())
                .sum();
        }
        if cells.is_exact(candidates) && !cells.is_exact(cells.count()) {
            let locations = self.documents.living().filter(|document| document.is_in(scope));
            let mut compared = Vec::with_capacity(candidates);
            cells.compare(
                probe,
                locations.flat_map(|document| document.locations.iter().copied()),
                &mut compared,
            );
            return self.best(compared, scope, limit);
        }
        let (near, count) = cells.near(probe, candidates);
        self.best(compare(cells, probe, &near, threads(count * cells.dimension())), scope, limit)
    }

    /// The best code of each of the best documents.
    fn best(
        &self,
        mut compared: Vec<Compared>,
        scope: &Scope,
        limit: usize,
    ) -> Vec<(Compared, &StoredDocument)> {
        let mut looked_at = limit.saturating_mul(CODES_PER_HIT).max(1);
        loop {
            let is_all = looked_at >= compared.len();
            if !is_all {
                compared.select_nth_unstable_by(looked_at, nearer);
            }
            let some = compared.get(..looked_at).unwrap_or(&compared);
            let mut best = HashMap::<u32, (Compared, &StoredDocument)>::with_capacity(limit);
            for compared in some.iter().filter(|compared| compared.score > 0.0) {
                if let Some((known, _)) = best.get_mut(&compared.owner.document) {
                    if nearer(compared, known) == Ordering::Less {
                        *known = *compared;
                    }
                    continue;
                }
                let document = self.documents.get(compared.owner.document);
                if let Some(document) = document.filter(|document| document.is_in(scope)) {
                    best.insert(compared.owner.document, (*compared, document));
                }
            }
            // No other document has a better code than those read.
            if is_all || best.len() >= limit {
                return best.into_values().collect();
            }
            looked_at = looked_at.saturating_mul(4);
        }
    }
}

fn newer(
    (left, left_document): &(Compared, &StoredDocument),
    (right, right_document): &(Compared, &StoredDocument),
) -> Ordering {
    let newer = || right_document.created_at_ms.cmp(&left_document.created_at_ms);
    right.score.total_cmp(&left.score).then_with(newer).then_with(|| left_document.id.cmp(&right_document.id))
}

fn keep_best(found: &mut Vec<(Compared, &StoredDocument)>, limit: usize) {
    if found.len() > limit {
        if limit > 0 {
            found.select_nth_unstable_by(limit - 1, newer);
        }
        found.truncate(limit);
    }
}

/// The number of threads for this many bytes.
fn threads(bytes: usize) -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from));
    if bytes < PARALLEL_BYTES_MIN { 1 } else { cores.min(THREADS_MAX) }
}

/// Compares the codes of some cells.
fn compare(cells: &Cells, probe: &Probe, near: &[usize], threads: usize) -> Vec<Compared> {
    let some = near.len().div_ceil(threads).max(1);
    if near.len() <= some {
        return cells.compare_cells(probe, near);
    }
    thread::scope(|scope| {
        let (first, others) = near.split_at(some);
        let others: Vec<_> =
            others.chunks(some).map(|near| scope.spawn(move || cells.compare_cells(probe, near))).collect();
        let mut compared = cells.compare_cells(probe, first);
        // A thread that panicked contributes nothing; the panic was reported.
        others.into_iter().filter_map(|other| other.join().ok()).for_each(|other| compared.extend(other));
        compared
    })
}

#[cfg(test)]
mod tests;
