//! How near documents are: BM25 over the words of each project.
//! Must not know: how they were written.

use std::ops::Bound;

use plenary_retrieval::{Fault, HITS_MAX, Hit, Query, Scope};
use tantivy::{
    DocAddress, Score, Searcher, TantivyDocument, Term,
    collector::TopDocs,
    query::{Bm25StatisticsProvider, BooleanQuery, ConstScoreQuery, Occur, RangeQuery, TermQuery},
    schema::{Field, IndexRecordOption, Value as _},
};

use crate::{
    fields::{Fields, prefix},
    unavailable,
};

/// Hits behind the limit that are looked at, so that the newer of two that are as near is not cut off.
const LEEWAY: usize = 64;

/// What is counted within the scope alone; only the usual length of a text is that of all.
struct InScope<'a> {
    searcher: &'a Searcher,
    documents: u64,
    length: u64,
}

impl Bm25StatisticsProvider for InScope<'_> {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.length.saturating_mul(self.documents))
    }
    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.searcher.doc_freq(term).map(|found| found.min(self.documents))
    }
}

pub(crate) fn search(
    searcher: &Searcher,
    fields: Fields,
    (query, scope): (&Query, &Scope),
    limit: usize,
) -> Result<Vec<Hit>, Fault> {
    let limit = limit.min(HITS_MAX);
    let prefixes: Vec<String> = scope.projects.iter().map(|project| prefix(project)).collect();
    let mut clauses = Vec::<(Occur, Box<dyn tantivy::query::Query>)>::new();
    let mut documents = 0;
    for prefix in &prefixes {
        let of_project = Term::from_field_text(fields.project, prefix);
        documents += searcher.doc_freq(&of_project).map_err(unavailable)?;
        for word in query.words() {
            let term = fields.word(prefix, word);
            // Most words of a search over many projects stand in few of them.
            if searcher.doc_freq(&term).map_err(unavailable)? > 0 {
                let clause = TermQuery::new(term, IndexRecordOption::WithFreqs);
                clauses.push((Occur::Should, Box::new(clause)));
            }
        }
    }
    if limit == 0 || clauses.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = within(fields, scope, BooleanQuery::new(clauses));
    let statistics = InScope { searcher, documents, length: usual_length(searcher, fields)? };
    let top = TopDocs::with_limit(limit + LEEWAY).order_by_score();
    let top = searcher.search_with_statistics_provider(&wanted, &top, &statistics).map_err(unavailable)?;
    let mut found = top.into_iter().map(|hit| read(searcher, fields, hit)).collect::<Result<Vec<_>, _>>()?;
    found.sort_by(|(hit, at), (other, other_at)| {
        other.score.total_cmp(&hit.score).then(other_at.cmp(at)).then_with(|| hit.id.cmp(&other.id))
    });
    found.truncate(limit);
    Ok(found.into_iter().map(|(hit, _)| hit).collect())
}

/// The words, in the window and the states that are asked for.
fn within(fields: Fields, scope: &Scope, words: BooleanQuery) -> BooleanQuery {
    let mut filters = Vec::<Box<dyn tantivy::query::Query>>::new();
    if let Some(since_ms) = scope.since_ms {
        let since = Term::from_field_i64(fields.created_at_ms, since_ms);
        filters.push(Box::new(RangeQuery::new(Bound::Included(since), Bound::Unbounded)));
    }
    if scope.without_drafts {
        let finished = Term::from_field_bool(fields.is_draft, false);
        filters.push(Box::new(TermQuery::new(finished, IndexRecordOption::Basic)));
    }
    if filters.is_empty() {
        return words;
    }
    let mut clauses = Vec::<(Occur, Box<dyn tantivy::query::Query>)>::new();
    for filter in filters {
        clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(filter, 0.0))));
    }
    clauses.push((Occur::Must, Box::new(words)));
    BooleanQuery::new(clauses)
}

/// How long a text usually is.
fn usual_length(searcher: &Searcher, fields: Fields) -> Result<u64, Fault> {
    let (mut words, mut documents) = (0, 0);
    for segment in searcher.segment_readers() {
        words += segment.inverted_index(fields.words).map_err(unavailable)?.total_num_tokens();
        documents += u64::from(segment.max_doc());
    }
    Ok((words / documents.max(1)).max(1))
}

/// A hit with the time of its document.
fn read(
    searcher: &Searcher,
    fields: Fields,
    (score, address): (Score, DocAddress),
) -> Result<(Hit, i64), Fault> {
    let segment = searcher.segment_reader(address.segment_ord);
    let times = segment.fast_fields().i64("created_at_ms").map_err(unavailable)?;
    let at = times.first(address.doc_id).unwrap_or_default();
    let kept: TantivyDocument = searcher.doc(address).map_err(unavailable)?;
    let id = kept.get_first(fields.id).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    Ok((Hit { id, score: f64::from(score) }, at))
}
