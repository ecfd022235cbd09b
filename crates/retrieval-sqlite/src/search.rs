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
    /// The number of documents before `end`.
    fn count(&self, end: usize) -> u64 {
        match self {
            Self::Listed(list) if end == WHOLE => u64::from(list.count),
            Self::Dense(list) if end == WHOLE => u64::from(list.count),
            Self::Listed(list) => {
                let mut count = 0;
                list.each(|nr, _| count += u64::from(usize::try_from(nr).is_ok_and(|nr| nr < end)));
                count
            }
            Self::Dense(list) => list.count_before(end),
        }
    }
}

/// The end of a project that is searched as a whole.
const WHOLE: usize = usize::MAX;

/// The lists of a query's words in a project.
struct QueryLists {
    project: Arc<RwLock<Project>>,
    /// The number of the first document that is not searched.
    end: usize,
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
        for (name, project, key) in projects(connection, shelf, scope, head.writes)? {
            let words = lists(connection, shelf, query, (key, era))?;
            let end = scope.last_of(name).map_or(Ok(WHOLE), |last| end(connection, &project, last))?;
            found.push(QueryLists { project, end, words });
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
        let all: u64 = projects.iter().map(|(_, project, _)| project.read().live()).sum();
        if all < COMMON_DOCUMENTS_MIN {
            return Ok(Vec::new());
        }
        let mut having = HashMap::<&str, u64>::new();
        for (_, _, key) in &projects {
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

/// A project of the scope that exists, with its name and its key in the file.
type FoundProject<'a> = (&'a str, Arc<RwLock<Project>>, i64);

/// The projects of the scope that exist.
fn projects<'a>(
    connection: &Connection,
    shelf: &Shelf,
    scope: &'a Scope,
    writes: i64,
) -> Result<Vec<FoundProject<'a>>> {
    let mut found = Vec::with_capacity(scope.projects.len());
    for name in &scope.projects {
        if let Some(project) = shelf.project(connection, name, writes)? {
            let key = project.read().key;
            found.push((name.as_str(), project, key));
        }
    }
    Ok(found)
}

/// The number of the first document of a project whose id ends in a number above `last`.
fn end(connection: &Connection, project: &RwLock<Project>, last: u64) -> Result<usize> {
    let (key, count) = {
        let project = project.read();
        (project.key, u32::try_from(project.lengths().len()).unwrap_or(u32::MAX))
    };
    let is_before_end = |nr| -> Result<bool> {
        let id = entries::id(connection, key, nr)?;
        let number = id.and_then(|id| id.rsplit('/').next()?.parse::<u64>().ok());
        Ok(number.is_some_and(|number| number <= last))
    };
    let (mut low, mut high) = (0, count);
    // Often nothing was added later: look at the last one first.
    let mut middle = count.saturating_sub(1);
    while low < high {
        if is_before_end(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
        middle = low + (high - low) / 2;
    }
    Ok(usize::try_from(low).unwrap_or(WHOLE))
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
        let searched = searched(&project, found.end);
        for (nr, score) in scores(found, searched, all, usual_length).into_iter().enumerate() {
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
        if found.end == WHOLE {
            all += project.live();
            length += project.length();
        } else {
            let lengths = searched(&project, found.end).iter().filter(|length| **length > 0);
            (all, length) =
                lengths.fold((all, length), |(all, sum), length| (all + 1, sum + u64::from(*length)));
        }
    }
    (all, (length / all.max(1)).max(1) as f32)
}

/// The lengths of the documents of a project before `end`.
fn searched(project: &Project, end: usize) -> &[u32] {
    let lengths = project.lengths();
    lengths.get(..end).unwrap_or(lengths)
}

/// The score of each searched document of a project, by its number; never below 0. `lengths` has their lengths.
fn scores(found: &QueryLists, lengths: &[u32], all: u64, usual_length: f32) -> Vec<f32> {
    let mut scores = vec![0.0_f32; lengths.len()];
    for lists in &found.words {
        let having = lists.iter().map(|list| list.count(found.end)).sum();
        let bm25 = Bm25::new(having, all, usual_length);
        for list in lists {
            match list {
                Postings::Dense(list) => list.add(bm25, lengths, &mut scores),
                Postings::Listed(list) => list.each(|nr, often| {
                    let nr = usize::try_from(nr).unwrap_or(usize::MAX);
                    // Documents that are not searched, or newer than the cached ones, are skipped.
                    if let (Some(score), Some(length)) = (scores.get_mut(nr), lengths.get(nr)) {
                        *score += bm25.score(often, *length);
                    }
                }),
            }
        }
    }
    scores
}
