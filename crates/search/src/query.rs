//! One search: the indexes return candidates, each is read with the caller's permissions, and the readable ones
//! are ranked.
//! Must not know: HTTP.

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join_all;
use plenary_accounts::Scope as TokenScope;
use plenary_kernel::{TimestampMs, rfc3339::Utc};
use plenary_log::Fault;
use plenary_retrieval::{Competition, HITS_MAX, Hit, Scope, Score, fuse};
use plenary_room::{Findable, FoundItem, Searcher, Shelf};

use crate::{
    COMPARED_MAX, HITS_READ_MAX, READS_AT_ONCE, SHELVES_MAX, Search,
    request::SearchFilter,
    selection::{Candidate, Selection},
    snippet::snippet,
    wire::{FoundHit, Why},
    within,
};

/// All hits, best first.
pub(crate) struct SearchHits {
    candidates: Vec<Candidate>,
    /// Whether the index was up to date with the log, and everything that matches was looked at as far as it is ranked.
    pub(crate) is_complete: bool,
}

impl SearchHits {
    /// The hits of a page, and whether more follow.
    pub(crate) fn page(&self, filter: &SearchFilter, offset: usize) -> (Vec<FoundHit>, bool) {
        let remaining = self.candidates.get(offset..).unwrap_or_default();
        let page = remaining.iter().take(filter.limit).map(|candidate| candidate.hit(filter));
        (page.collect(), remaining.len() > filter.limit)
    }
}

impl Candidate {
    fn hit(&self, filter: &SearchFilter) -> FoundHit {
        let Score { total, words, meaning, date } = self.score;
        let FoundItem { kind, path, reference, about, by, at_ms, sections } = &self.item;
        FoundHit {
            room: self.room,
            kind,
            id: self.id.clone(),
            path: path.clone(),
            reference: reference.clone(),
            about: about.clone(),
            by: by.clone(),
            at: Utc(TimestampMs(u64::try_from(*at_ms).unwrap_or_default())).to_string(),
            snippet: snippet(&filter.query, sections),
            score: total,
            why: Why { words, meaning, date },
        }
    }
}

/// The results of the indexes.
#[derive(Default)]
struct Rankings {
    lists: Vec<Vec<Hit>>,
    /// Whether more items contain words of the query than an index returned.
    is_cut: bool,
    /// The similarity of items in meaning; `None` without a working model.
    meaning: Option<HashMap<String, f64>>,
}

impl Search {
    /// Searches for a caller. `scope` is the scope of the caller's token, if it has one.
    pub(crate) async fn find(
        &self,
        searcher: &Searcher,
        scope: Option<&TokenScope>,
        filter: &SearchFilter,
    ) -> Result<SearchHits, Fault> {
        // A filter by author may reject many hits, so look at more.
        let max = if filter.author.is_some() { HITS_MAX } else { HITS_READ_MAX };
        let is_fresh = self.0.words.is_fresh().await?;
        let rankings = self.rankings(searcher, scope, filter, max).await?;
        let hits = fuse(&rankings.lists, max);
        let selection = self.read(searcher, filter, &hits).await?;
        let is_whole = selection.is_full() || !selection.is_exhausted() && !rankings.is_cut;
        let mut candidates = selection.candidates;
        let mut competition = Competition::new(&filter.query);
        for candidate in &candidates {
            competition.add(&candidate.item.sections, candidate.item.at_ms);
        }
        let by_words = competition.scores(&[], &[]);
        let has_vectors: HashSet<String> = rankings.meaning.iter().flat_map(HashMap::keys).cloned().collect();
        let meaning = self.meaning(filter, rankings.meaning, &candidates, &by_words).await;
        let closeness = self.closeness(filter, &competition, &candidates, &has_vectors).await;
        for (candidate, score) in candidates.iter_mut().zip(competition.scores(&meaning, &closeness)) {
            candidate.score = score;
        }
        candidates.sort_by(|a, b| {
            let newest_first = b.item.at_ms.cmp(&a.item.at_ms);
            b.score.total.total_cmp(&a.score.total).then(newest_first).then_with(|| a.id.cmp(&b.id))
        });
        Ok(SearchHits { candidates, is_complete: is_fresh && is_whole })
    }

    /// The similarity of each candidate in meaning; empty without a working model. Of the candidates without
    /// vectors, the best
    /// by words are compared now; the rest get the median.
    async fn meaning(
        &self,
        filter: &SearchFilter,
        known_meaning: Option<HashMap<String, f64>>,
        candidates: &[Candidate],
        by_words: &[Score],
    ) -> Vec<f64> {
        let Some(semantic) = self.0.semantic.as_ref().filter(|semantic| semantic.works()) else {
            return Vec::new();
        };
        let mut similarity = known_meaning.unwrap_or_default();
        let mut without_vectors: Vec<usize> =
            (0..candidates.len()).filter(|nth| !similarity.contains_key(&candidates[*nth].id)).collect();
        without_vectors.sort_by(|a, b| by_words[*b].total.total_cmp(&by_words[*a].total));
        without_vectors.truncate(COMPARED_MAX);
        let texts: Vec<String> = without_vectors
            .iter()
            .map(|nth| snippet(&filter.query, &candidates[*nth].item.sections).text)
            .collect();
        if !texts.is_empty() {
            let Ok(similarities) = semantic.likeness(&filter.query, texts).await else { return Vec::new() };
            similarity
                .extend(without_vectors.iter().map(|nth| candidates[*nth].id.clone()).zip(similarities));
        }
        let median_similarity = median(similarity.values().copied().collect());
        candidates
            .iter()
            .map(|candidate| similarity.get(&candidate.id).copied().unwrap_or(median_similarity))
            .collect()
    }

    /// How similar the query's words are to those of each candidate that has vectors, where it is known.
    async fn closeness(
        &self,
        filter: &SearchFilter,
        competition: &Competition<'_>,
        candidates: &[Candidate],
        has_vectors: &HashSet<String>,
    ) -> Vec<Option<f64>> {
        let Some(semantic) = self.0.semantic.as_ref().filter(|semantic| semantic.works()) else {
            return Vec::new();
        };
        let sections = |candidate: &Candidate| {
            if has_vectors.contains(&candidate.id) { candidate.item.sections.clone() } else { Vec::new() }
        };
        let documents = candidates.iter().map(sections).collect();
        semantic.closeness(&filter.query, &competition.rarities(), documents).await.unwrap_or_default()
    }

    /// The results of the indexes for the shelves that the caller may read and its token covers.
    async fn rankings(
        &self,
        searcher: &Searcher,
        scope: Option<&TokenScope>,
        filter: &SearchFilter,
        max: usize,
    ) -> Result<Rankings, Fault> {
        let window = Scope { since_ms: filter.since_ms, until_ms: filter.until_ms, ..Scope::default() };
        let (mut rankings, mut all_shelves) = (Rankings::default(), window.clone());
        for room in self.0.sources.rooms.iter().filter(|room| filter.has_room(room.room())) {
            let shelves = shelves(&**room, searcher, scope).await?;
            for shelf in &shelves {
                let name = within(room.room(), &shelf.name);
                all_shelves.beginnings.extend(shelf.last.map(|last| (name.clone(), last.0)));
                all_shelves.projects.insert(name);
            }
            if shelves.is_empty() {
                continue;
            }
            let projects = shelves.into_iter().map(|shelf| shelf.name).collect();
            let room_hits = room.own_hits(&filter.query, Scope { projects, ..window.clone() }, max).await?;
            let with_room_prefix = |hits: Vec<Hit>| -> Vec<Hit> {
                hits.into_iter().map(|hit| Hit { id: within(room.room(), &hit.id), ..hit }).collect()
            };
            rankings.is_cut |= room_hits.words.len() >= max;
            rankings.lists.push(with_room_prefix(room_hits.words));
            if let Some(meaning) = room_hits.meaning.map(with_room_prefix) {
                let similarity = rankings.meaning.get_or_insert_default();
                similarity.extend(meaning.iter().map(|hit| (hit.id.clone(), hit.score)));
                rankings.lists.push(meaning);
            }
        }
        let hits = self.0.words.search(&filter.query, &all_shelves, max).await?;
        rankings.is_cut |= hits.len() >= max;
        rankings.lists.push(hits);
        Ok(rankings)
    }

    /// Reads the hits with the caller's current permissions and drops those that the caller may not read.
    async fn read(
        &self,
        searcher: &Searcher,
        filter: &SearchFilter,
        hits: &[Hit],
    ) -> Result<Selection, Fault> {
        let mut selection = Selection::default();
        for chunk in hits.chunks(READS_AT_ONCE) {
            for candidate in self.read_some(searcher, chunk).await?.into_iter().flatten() {
                selection.add(filter, candidate);
                if selection.is_full() || selection.is_exhausted() {
                    return Ok(selection);
                }
            }
        }
        Ok(selection)
    }

    /// Reads a few hits, each in its room.
    async fn read_some(&self, searcher: &Searcher, hits: &[Hit]) -> Result<Vec<Option<Candidate>>, Fault> {
        let mut found = Vec::new();
        found.resize_with(hits.len(), || None);
        for source in &self.0.sources.rooms {
            let room = source.room();
            let own = hits.iter().enumerate().filter_map(|(nth, hit)| {
                let (name, id) = hit.id.split_once('/')?;
                (name == room).then_some((nth, id))
            });
            let (own, ids): (Vec<_>, Vec<_>) = own.unzip();
            let items = if ids.is_empty() { Vec::new() } else { source.read_several(searcher, &ids).await };
            for (nth, item) in own.into_iter().zip(items) {
                let item = Fault::skip_corrupt(item, "a damaged thing is left out of a search")?.flatten();
                let id = hits[nth].id.clone();
                found[nth] = item.map(|item| Candidate { id, room, item, score: Score::default() });
            }
        }
        Ok(found)
    }
}

/// The shelves of a room that the searcher may search and its token covers: of a token that is limited to sessions and
/// projects, these, whether they are among the newest or not.
async fn shelves(
    room: &dyn Findable,
    searcher: &Searcher,
    scope: Option<&TokenScope>,
) -> Result<Vec<Shelf>, Fault> {
    let mut shelves = match scope.and_then(|scope| scope.limits_in(room.room())) {
        Some(names) => try_join_all(names.iter().map(|name| room.shelf(searcher, name)))
            .await?
            .into_iter()
            .flatten()
            .collect(),
        None => room.shelves(searcher, SHELVES_MAX).await?,
    };
    let may_read = |scope: &TokenScope, shelf: &Shelf| {
        scope.reads(room.room(), shelf.session.as_deref(), &shelf.projects)
    };
    shelves.retain(|shelf| scope.is_none_or(|scope| may_read(scope, shelf)));
    Ok(shelves)
}

/// The median, for items without vectors.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::tests::{candidate, filter};

    #[test]
    fn a_page_begins_after_the_previous_one() {
        let candidates = (0..5).map(|nth| candidate("@nick.bot", nth, "red")).collect();
        let search_hits = SearchHits { candidates, is_complete: true };
        let filter = filter(&[("q", "red"), ("limit", "2")]);
        let ids = |offset: usize| {
            let (hits, has_more) = search_hits.page(&filter, offset);
            (hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>().join(" "), has_more)
        };
        assert_eq!(ids(0), ("0 1".to_owned(), true));
        assert_eq!(ids(4), ("4".to_owned(), false));
        assert_eq!(ids(9), (String::new(), false));
    }

    #[test]
    fn what_has_no_vectors_is_as_near_as_most() {
        assert!((median(vec![0.9, 0.1, 0.5]) - 0.5).abs() < 1e-9 && median(Vec::new()) == 0.0);
    }
}
