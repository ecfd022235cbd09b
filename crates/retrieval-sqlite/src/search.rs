//! The ranking: BM25 over the words of each project.
//! Must not know: how documents were written.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
};

use parking_lot::RwLock;
use plenary_retrieval::{COMMON_DOCUMENTS_MIN, COMMON_SHARE, HITS_MAX, Hit, Query, Scope};
use rusqlite::{Connection, Result};

use crate::{
    dense::Dense,
    documents::Project,
    entries,
    lists::{Bm25, List},
    runs,
    shelf::Shelf,
};

/// Extra hits that are read, so that the limit does not cut off the newer of two with equal scores.
const LEEWAY: usize = 64;

/// A possible hit: the bits of its score (which have the order of the score), creation time, project and
/// number.
type Candidate = (u32, i64, i64, u32);

/// The documents of one run that have a word.
enum Postings {
    Listed(List),
    Dense(Arc<Dense>),
}

impl Postings {
    fn count(&self) -> u64 {
        u64::from(match self {
            Self::Listed(list) => list.count,
            Self::Dense(list) => list.count,
        })
    }
}

/// The lists of a query's words in a project.
struct QueryLists {
    project: Arc<RwLock<Project>>,
    words: Vec<Vec<Postings>>,
}

pub(crate) fn search(shelf: &Shelf, query: &Query, scope: &Scope, limit: usize) -> Result<Vec<Hit>> {
    let limit = limit.min(HITS_MAX);
    if limit == 0 || query.words().is_empty() {
        return Ok(Vec::new());
    }
    shelf.read(|connection| {
        let era = shelf.lists.lock().era();
        let head = entries::head(connection)?;
        let mut found = Vec::new();
        for (project, key) in projects(connection, shelf, scope, head.writes)? {
            let words = lists(connection, shelf, query, (key, era))?;
            found.push(QueryLists { project, words });
        }
        let best = best(&found, scope, limit + LEEWAY);
        let mut hits = Vec::with_capacity(best.len());
        for (score, at, project, nr) in best {
            // A document that was replaced meanwhile is skipped.
            let id = entries::id(connection, project, nr)?;
            hits.extend(id.map(|id| (Hit { id, score: f64::from(f32::from_bits(score)) }, at)));
        }
        hits.sort_by(|(hit, at), (other, other_at)| {
            other.score.total_cmp(&hit.score).then(other_at.cmp(at)).then_with(|| hit.id.cmp(&other.id))
        });
        hits.truncate(limit);
        Ok(hits.into_iter().map(|(hit, _)| hit).collect())
    })
}

/// Words of the query that nearly all documents of the scope's projects have. Counts deleted documents until a
/// merge.
pub(crate) fn common(shelf: &Shelf, query: &Query, scope: &Scope) -> Result<Vec<String>> {
    shelf.read(|connection| {
        let head = entries::head(connection)?;
        let projects = projects(connection, shelf, scope, head.writes)?;
        let all: u64 = projects.iter().map(|(project, _)| project.read().live()).sum();
        if all < COMMON_DOCUMENTS_MIN {
            return Ok(Vec::new());
        }
        let mut having = HashMap::<&str, u64>::new();
        for (_, key) in &projects {
            for run in runs::of(connection, *key)? {
                for word in query.words() {
                    let count = runs::count(connection, run, *key, word)?;
                    *having.entry(word).or_default() += u64::from(count);
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
        let is_common = |having: u64| having as f64 >= COMMON_SHARE * all as f64;
        let common = having.into_iter().filter(|(_, having)| is_common(*having));
        Ok(common.map(|(word, _)| word.to_owned()).collect())
    })
}

/// The projects of the scope that exist, with their keys in the file.
fn projects(
    connection: &Connection,
    shelf: &Shelf,
    scope: &Scope,
    writes: i64,
) -> Result<Vec<(Arc<RwLock<Project>>, i64)>> {
    let mut found = Vec::with_capacity(scope.projects.len());
    for name in &scope.projects {
        if let Some(project) = shelf.project(connection, name, writes)? {
            let key = project.read().key;
            found.push((project, key));
        }
    }
    Ok(found)
}

/// The lists of every run that has documents of the project; each document is in exactly one run.
fn lists(
    connection: &Connection,
    shelf: &Shelf,
    query: &Query,
    (project, era): (i64, u64),
) -> Result<Vec<Vec<Postings>>> {
    let runs = runs::of(connection, project)?;
    let mut words = Vec::new();
    for word in query.words() {
        let mut found = Vec::new();
        for run in &runs {
            let key = (*run, project, word.clone());
            let cached = shelf.lists.lock().get(&key);
            if let Some(cached) = cached {
                found.push(Postings::Dense(cached));
                continue;
            }
            let Some(list) = runs::list(connection, *run, project, word)? else { continue };
            found.push(match Dense::of(&list).map(Arc::new) {
                Some(dense) => {
                    shelf.lists.lock().keep(era, key, dense.clone());
                    Postings::Dense(dense)
                }
                None => Postings::Listed(list),
            });
        }
        if !found.is_empty() {
            words.push(found);
        }
    }
    Ok(words)
}

/// All counts are those of the scope, so that a score reveals nothing about other projects.
fn best(found: &[QueryLists], scope: &Scope, most: usize) -> Vec<Candidate> {
    let (all, usual_length) = extent(found);
    let mut best = BinaryHeap::<Reverse<Candidate>>::with_capacity(most + 1);
    for found in found.iter().filter(|found| !found.words.is_empty()) {
        let project = found.project.read();
        // The lowest score bits that can be among the best.
        let mut least = 1;
        for (nr, score) in scores(&project, &found.words, all, usual_length).into_iter().enumerate() {
            let bits = score.to_bits();
            if bits < least {
                continue;
            }
            let entry = project.entry(nr);
            let is_full = best.len() >= most;
            let is_better = |than: &Reverse<Candidate>| (bits, entry.created_at_ms) >= (than.0.0, than.0.1);
            if entry.is_in(scope) && (!is_full || best.peek().is_some_and(is_better)) {
                let nr = u32::try_from(nr).unwrap_or(u32::MAX);
                best.push(Reverse((bits, entry.created_at_ms, project.key, nr)));
                if best.len() > most {
                    best.pop();
                }
                if best.len() == most {
                    least = best.peek().map_or(1, |worst| worst.0.0.max(1));
                }
            }
        }
    }
    best.into_iter().map(|Reverse(candidate)| candidate).collect()
}

/// The number of documents, and their mean length.
#[expect(clippy::cast_precision_loss, reason = "seven digits of a mean are enough")]
fn extent(found: &[QueryLists]) -> (u64, f32) {
    let (mut all, mut length) = (0, 0);
    for found in found {
        let project = found.project.read();
        all += project.live();
        length += project.length();
    }
    (all, (length / all.max(1)).max(1) as f32)
}

/// The score of each document of a project, by its number; never below 0.
fn scores(project: &Project, words: &[Vec<Postings>], all: u64, usual_length: f32) -> Vec<f32> {
    let lengths = project.lengths();
    let mut scores = vec![0.0_f32; lengths.len()];
    for lists in words {
        let bm25 = Bm25::new(lists.iter().map(Postings::count).sum(), all, usual_length);
        for list in lists {
            match list {
                Postings::Dense(list) => list.add(bm25, lengths, &mut scores),
                Postings::Listed(list) => list.each(|nr, often| {
                    let nr = usize::try_from(nr).unwrap_or(usize::MAX);
                    // Documents that are newer than the cached ones are skipped.
                    if let (Some(score), Some(length)) = (scores.get_mut(nr), lengths.get(nr)) {
                        *score += bm25.score(often, *length);
                    }
                }),
            }
        }
    }
    scores
}
