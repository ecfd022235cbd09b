//! The ranking: BM25 over the words of each project.
//! Must not know: how documents were written.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use plenary_retrieval::{COMMON_DOCUMENTS_MIN, COMMON_SHARE, HITS_MAX, Hit, Query, Scope};
use rusqlite::{Connection, OptionalExtension as _, Result};

use crate::{
    documents::{Documents, Project},
    lists::{Bm25, List},
    shelf::Shelf,
};

/// Hits behind the limit that are looked at, so that the newer of two that are as near is not cut off.
const LEEWAY: usize = 64;

/// A document that may be a hit: the bits of its score, which are ordered as the score is, when it was made, and its
/// project and number.
type Candidate = (u32, i64, i64, u32);

/// The lists of a query's words in a project.
struct QueryLists {
    project: String,
    words: Vec<(String, Vec<List>)>,
}

pub(crate) fn search(shelf: &Shelf, query: &Query, scope: &Scope, limit: usize) -> Result<Vec<Hit>> {
    let limit = limit.min(HITS_MAX);
    if limit == 0 || query.words().is_empty() {
        return Ok(Vec::new());
    }
    shelf.read(|connection| {
        let found = lists(connection, shelf, query, scope)?;
        let best = best(&shelf.documents.read(), &found, scope, limit + LEEWAY);
        let mut id = connection.prepare_cached("SELECT id FROM document WHERE project = ? AND nr = ?")?;
        let mut hits = Vec::with_capacity(best.len());
        for (score, at, project, nr) in best {
            // What was replaced meanwhile is found another time.
            let id: Option<String> = id.query_row((project, nr), |row| row.get(0)).optional()?;
            hits.extend(id.map(|id| (Hit { id, score: f64::from(f32::from_bits(score)) }, at)));
        }
        hits.sort_by(|(hit, at), (other, other_at)| {
            other.score.total_cmp(&hit.score).then(other_at.cmp(at)).then_with(|| hit.id.cmp(&other.id))
        });
        hits.truncate(limit);
        Ok(hits.into_iter().map(|(hit, _)| hit).collect())
    })
}

/// Words of the query that nearly all documents of the scope's projects have. What is gone and not merged yet counts too.
pub(crate) fn common(shelf: &Shelf, query: &Query, scope: &Scope) -> Result<Vec<String>> {
    let found = shelf.read(|connection| lists(connection, shelf, query, scope))?;
    let documents = shelf.documents.read();
    let all: u64 =
        found.iter().filter_map(|found| documents.projects.get(&found.project)).map(Project::live).sum();
    if all < COMMON_DOCUMENTS_MIN {
        return Ok(Vec::new());
    }
    let mut having = HashMap::<&str, u64>::new();
    for (word, lists) in found.iter().flat_map(|found| &found.words) {
        *having.entry(word).or_default() += lists.iter().map(|list| u64::from(list.count)).sum::<u64>();
    }
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    let is_common = |having: u64| having as f64 >= COMMON_SHARE * all as f64;
    Ok(having.into_iter().filter(|(_, having)| is_common(*having)).map(|(word, _)| word.to_owned()).collect())
}

/// Of every run, for a document stands in one of them.
fn lists(connection: &Connection, shelf: &Shelf, query: &Query, scope: &Scope) -> Result<Vec<QueryLists>> {
    let keys: Vec<(String, i64)> = {
        let documents = shelf.documents.read();
        let known =
            scope.projects.iter().filter_map(|name| Some((name.clone(), documents.projects.get(name)?.key)));
        known.collect()
    };
    let mut runs = connection.prepare_cached("SELECT nr FROM run")?;
    let runs: Vec<i64> = runs.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut list = connection
        .prepare_cached("SELECT count, list FROM list WHERE run = ? AND project = ? AND word = ?")?;
    let mut found = Vec::with_capacity(keys.len());
    for (project, key) in keys {
        let mut words = Vec::new();
        for word in query.words() {
            let mut lists = Vec::new();
            for run in &runs {
                let read = |row: &rusqlite::Row<'_>| Ok(List::read(row.get(0)?, row.get(1)?));
                lists.extend(list.query_row((run, key, word), read).optional()?);
            }
            if !lists.is_empty() {
                words.push((word.clone(), lists));
            }
        }
        found.push(QueryLists { project, words });
    }
    Ok(found)
}

/// What is counted is counted within the scope alone; only the usual length of a text is that of all.
fn best(documents: &Documents, found: &[QueryLists], scope: &Scope, most: usize) -> Vec<Candidate> {
    let projects = || found.iter().filter_map(|found| Some((found, documents.projects.get(&found.project)?)));
    let all = projects().map(|(_, project)| project.live()).sum();
    let usual_length = documents.usual_length();
    let mut best = BinaryHeap::<Reverse<Candidate>>::with_capacity(most + 1);
    for (found, project) in projects().filter(|(found, _)| !found.words.is_empty()) {
        let scores = scores(project, &found.words, all, usual_length);
        for ((nr, score), entry) in (0..).zip(scores).zip(project.entries()) {
            let is_better =
                |than: &Reverse<Candidate>| (score.to_bits(), entry.created_at_ms) >= (than.0.0, than.0.1);
            if score > 0.0 && (best.len() < most || best.peek().is_some_and(is_better)) && entry.is_in(scope)
            {
                best.push(Reverse((score.to_bits(), entry.created_at_ms, project.key, nr)));
                if best.len() > most {
                    best.pop();
                }
            }
        }
    }
    best.into_iter().map(|Reverse(candidate)| candidate).collect()
}

/// The score of each document of a project, by its number.
fn scores(project: &Project, words: &[(String, Vec<List>)], all: u64, usual_length: f32) -> Vec<f32> {
    let entries = project.entries();
    let mut scores = vec![0.0_f32; entries.len()];
    for (_, lists) in words {
        let having = lists.iter().map(|list| u64::from(list.count)).sum();
        let bm25 = Bm25::new(having, all, usual_length);
        for list in lists {
            list.each(|nr, often| {
                let nr = usize::try_from(nr).unwrap_or(usize::MAX);
                // What is newer than the documents in memory is found another time.
                if let (Some(score), Some(entry)) = (scores.get_mut(nr), entries.get(nr)) {
                    *score += bm25.score(often, entry.length());
                }
            });
        }
    }
    scores
}
