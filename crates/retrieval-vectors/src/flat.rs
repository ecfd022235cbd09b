//! All codes in memory, by project, and a linear search over them, on several cores if there are many.
//! Must not know: models, files.

use std::{cmp::Ordering, collections::HashMap, sync::OnceLock, thread};

use plenary_retrieval::{PartHit, Scope};

use crate::{
    codes::{Best, Probe},
    kept::{Entry, JournalEntry},
};

/// Codes of documents that are gone are cleared away when they are so many, and a quarter of all.
const DEAD_MIN: usize = 1_024;

/// From so many bytes of codes on, a search is worth a thread for each core.
const PARALLEL_OCTETS_MIN: usize = 16 << 20;
/// Most threads of a search: the memory gives no more than some cores read.
const THREADS_MAX: usize = 4;

/// The codes of all projects.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    projects: HashMap<String, Segment>,
    /// Where each document is.
    places: HashMap<String, (String, usize)>,
    octets: usize,
}

/// The codes of a project. Vectors of a document stand beside each other.
#[derive(Debug, Default)]
struct Segment {
    codes: Vec<i8>,
    scales: Vec<f32>,
    /// Whose each code is.
    owners: Vec<u32>,
    documents: Vec<Option<StoredVector>>,
    dead: usize,
    dimension: usize,
}

#[derive(Debug, Clone)]
struct StoredVector {
    id: String,
    created_at_ms: i64,
    is_draft: bool,
    digest: u64,
    /// Its first code and how many there are.
    at: usize,
    count: usize,
}

impl Flat {
    pub(crate) fn documents(&self) -> usize {
        self.places.len()
    }

    /// What the living codes take.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    pub(crate) fn apply(&mut self, change: JournalEntry) {
        match change {
            JournalEntry::Delete(id) => self.remove(&id),
            JournalEntry::Put(entry) => {
                self.remove(&entry.id);
                let segment = self.projects.entry(entry.project.clone()).or_default();
                self.octets += octets_of(&entry);
                self.places.insert(entry.id.clone(), (entry.project.clone(), segment.documents.len()));
                segment.add(entry);
            }
        }
    }

    fn remove(&mut self, id: &str) {
        let Some((project, place)) = self.places.remove(id) else { return };
        let Some(segment) = self.projects.get_mut(&project) else { return };
        let Some(held) = segment.documents.get_mut(place).and_then(Option::take) else { return };
        segment.dead += held.count;
        self.octets -= held.count * (segment.dimension + CODE_EXTRA_OCTETS) + held.id.len() + DOCUMENT_OCTETS;
        if segment.documents.iter().all(Option::is_none) {
            self.projects.remove(&project);
        } else if segment.dead >= DEAD_MIN && segment.dead * 4 > segment.owners.len() {
            segment.clear_away(&project, &mut self.places);
        }
    }

    /// The document as it is held, if its parts are those.
    pub(crate) fn entry(&self, id: &str) -> Option<Entry> {
        let (project, place) = self.places.get(id)?;
        let segment = self.projects.get(project)?;
        let held = segment.documents.get(*place)?.as_ref()?;
        let codes = (held.at..held.at + held.count).map(|at| segment.code(at)).collect();
        Some(Entry {
            id: held.id.clone(),
            project: project.clone(),
            created_at_ms: held.created_at_ms,
            is_draft: held.is_draft,
            digest: held.digest,
            codes,
        })
    }

    /// The digest of a document's parts.
    pub(crate) fn digest(&self, id: &str) -> Option<u64> {
        let (project, place) = self.places.get(id)?;
        self.projects.get(project)?.documents.get(*place)?.as_ref().map(|held| held.digest)
    }

    /// The ids of all documents.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// The documents of a scope with the nearest codes; of two that are as near the newer one.
    pub(crate) fn search(&self, probe: &Probe, scope: &Scope, limit: usize) -> Vec<PartHit> {
        let mut found = Vec::new();
        for project in &scope.projects {
            let Some(segment) = self.projects.get(project) else { continue };
            let best = segment.best(probe, threads(segment.codes.len()));
            let wanted = segment.documents.iter().zip(&best).filter_map(|(held, best)| {
                let held = held.as_ref().filter(|held| best.score > 0.0 && held.is_in(scope))?;
                Some((*best, held))
            });
            found.extend(wanted);
            keep_best(&mut found, limit);
        }
        found.sort_unstable_by(nearer);
        let hit = |(best, held): (Best, &StoredVector)| {
            let score = f64::from(best.score.min(1.0));
            PartHit { id: held.id.clone(), part: best.at - held.at, score }
        };
        found.into_iter().map(hit).collect()
    }
}

/// What a code takes beside its parts, and a document beside its codes and its id.
const CODE_EXTRA_OCTETS: usize = 8;
const DOCUMENT_OCTETS: usize = 160;

fn octets_of(entry: &Entry) -> usize {
    let codes: usize = entry.codes.iter().map(|code| code.parts.len() + CODE_EXTRA_OCTETS).sum();
    codes + entry.id.len() + DOCUMENT_OCTETS
}

fn nearer(
    (left, left_held): &(Best, &StoredVector),
    (right, right_held): &(Best, &StoredVector),
) -> Ordering {
    let newer = || right_held.created_at_ms.cmp(&left_held.created_at_ms);
    right.score.total_cmp(&left.score).then_with(newer).then_with(|| left_held.id.cmp(&right_held.id))
}

fn keep_best(found: &mut Vec<(Best, &StoredVector)>, limit: usize) {
    if found.len() > limit {
        if limit > 0 {
            found.select_nth_unstable_by(limit - 1, nearer);
        }
        found.truncate(limit);
    }
}

impl StoredVector {
    fn is_in(&self, scope: &Scope) -> bool {
        scope.since_ms.is_none_or(|since| self.created_at_ms >= since)
            && !(scope.without_drafts && self.is_draft)
    }
}

/// How many threads look at so many bytes.
fn threads(octets: usize) -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from));
    if octets < PARALLEL_OCTETS_MIN { 1 } else { cores.min(THREADS_MAX) }
}

impl Segment {
    /// The nearest code of each document.
    fn best(&self, probe: &Probe, threads: usize) -> Vec<Best> {
        let mut best = vec![Best::default(); self.documents.len()];
        let some = best.len().div_ceil(threads).max(1);
        if best.len() <= some {
            self.raise(probe, 0, &mut best);
            return best;
        }
        thread::scope(|scope| {
            for (nth, best) in best.chunks_mut(some).enumerate() {
                scope.spawn(move || self.raise(probe, nth * some, best));
            }
        });
        best
    }

    /// Raises the scores of documents from a certain one on; codes stand in the order of their owners.
    fn raise(&self, probe: &Probe, first: usize, best: &mut [Best]) {
        let owner = |nth: usize| u32::try_from(nth).unwrap_or(u32::MAX);
        let until = |nth: usize| self.owners.partition_point(|other| *other < owner(nth));
        let (begin, end) = (until(first), until(first + best.len()));
        let codes = &self.codes[begin * self.dimension..end * self.dimension];
        let owners = (&self.owners[begin..end], owner(first));
        probe.raise(codes, &self.scales[begin..end], owners, best);
        for best in best.iter_mut().filter(|best| best.score > 0.0) {
            best.at += begin;
        }
    }

    fn add(&mut self, entry: Entry) {
        let owner = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        let (at, count) = (self.owners.len(), entry.codes.len());
        for code in entry.codes {
            self.dimension = code.parts.len();
            self.codes.extend(code.parts);
            self.scales.push(code.scale);
            self.owners.push(owner);
        }
        let Entry { id, created_at_ms, is_draft, digest, .. } = entry;
        self.documents.push(Some(StoredVector { id, created_at_ms, is_draft, digest, at, count }));
    }

    fn code(&self, at: usize) -> crate::codes::Code {
        let parts = self.codes[at * self.dimension..][..self.dimension].to_vec();
        crate::codes::Code { parts, scale: self.scales[at] }
    }

    /// Gives back the room of what is gone.
    fn clear_away(&mut self, project: &str, places: &mut HashMap<String, (String, usize)>) {
        let old = std::mem::take(self);
        for held in old.documents.iter().flatten() {
            let codes = (held.at..held.at + held.count).map(|at| old.code(at)).collect();
            places.insert(held.id.clone(), (project.to_owned(), self.documents.len()));
            self.add(Entry {
                id: held.id.clone(),
                project: project.to_owned(),
                created_at_ms: held.created_at_ms,
                is_draft: held.is_draft,
                digest: held.digest,
                codes,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::Code;

    fn put(id: &str, project: &str, created_at_ms: i64, vectors: &[[f32; 2]]) -> JournalEntry {
        let codes = vectors.iter().map(|vector| Code::of(vector)).collect();
        let (id, project) = (id.to_owned(), project.to_owned());
        JournalEntry::Put(Entry {
            id,
            project,
            created_at_ms,
            is_draft: created_at_ms == 9,
            digest: 1,
            codes,
        })
    }

    fn found(flat: &Flat, scope: &Scope, limit: usize) -> Vec<String> {
        let hits = flat.search(&Probe::of(&[1.0, 0.0]), scope, limit);
        hits.into_iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn the_nearest_part_counts_and_the_newer_wins_a_draw() {
        let mut flat = Flat::default();
        flat.apply(put("far", "p", 1, &[[0.6, 0.8], [0.0, 1.0]]));
        flat.apply(put("near", "p", 1, &[[0.0, 1.0], [0.8, 0.6]]));
        flat.apply(put("newer", "p", 2, &[[0.8, 0.6]]));
        flat.apply(put("draft", "p", 9, &[[0.8, 0.6]]));
        flat.apply(put("other", "q", 1, &[[1.0, 0.0]]));
        flat.apply(put("behind", "p", 1, &[[-1.0, 0.0]]));
        assert_eq!(found(&flat, &Scope::project("p"), 9), ["draft", "newer", "near", "far"]);
        assert_eq!(found(&flat, &Scope::project("p"), 2), ["draft", "newer"]);
        let scope = Scope { since_ms: Some(2), without_drafts: true, ..Scope::project("p") };
        assert_eq!(found(&flat, &scope, 9), ["newer"]);
        assert!(found(&flat, &Scope::default(), 9).is_empty());
        let hits = flat.search(&Probe::of(&[1.0, 0.0]), &Scope::project("p"), 9);
        assert_eq!(hits.iter().map(|hit| hit.part).collect::<Vec<_>>(), [0, 0, 1, 0]);
    }

    #[test]
    fn threads_find_what_one_finds() {
        let mut flat = Flat::default();
        for nth in 0..100_u8 {
            let part = f32::from(nth) / 100.0;
            let vectors = [[part, 1.0 - part], [0.5, part], [-1.0, 0.0]];
            flat.apply(put(&nth.to_string(), "p", 1, &vectors[..usize::from(nth % 4).min(3)]));
        }
        let (segment, probe) = (&flat.projects["p"], Probe::of(&[1.0, 0.2]));
        let one = segment.best(&probe, 1);
        for threads in [2, 3, 7, 100, 200] {
            assert_eq!(segment.best(&probe, threads), one, "{threads}");
        }
        assert_eq!(threads(PARALLEL_OCTETS_MIN - 1), 1);
    }

    #[test]
    fn what_is_replaced_or_deleted_is_gone_with_its_room() {
        let mut flat = Flat::default();
        flat.apply(put("kept", "p", 1, &[[0.6, 0.8]]));
        let octets = flat.octets();
        for _ in 0..3 * DEAD_MIN {
            flat.apply(put("one", "p", 1, &[[1.0, 0.0]]));
        }
        assert!(flat.projects["p"].owners.len() <= DEAD_MIN + 2);
        flat.apply(put("one", "q", 1, &[[1.0, 0.0]]));
        assert_eq!(found(&flat, &Scope::project("p"), 9), ["kept"]);
        assert_eq!(flat.entry("kept").map(|entry| entry.codes), Some(vec![Code::of(&[0.6, 0.8])]));
        flat.apply(JournalEntry::Delete("one".into()));
        assert_eq!((flat.documents(), flat.octets()), (1, octets));
        assert!(!flat.projects.contains_key("q"));
    }
}
