//! The suite that every index passes: each case is a test of its own, made by [`conformance!`](crate::conformance!).
//! Compiled only under the feature `conformance`, for tests. Must not know: any backend.

use std::{future::Future, sync::Arc, time::Duration};

use plenary_kernel::Position;

use crate::{Change, Document, Index, Kind, PutOutcome, Query, Scope, Section};

pub mod durable;
pub mod ranking;
pub mod scopes;
pub mod shared;
pub mod words;
pub mod writes;

/// A case that takes longer hangs.
const CASE_MAX: Duration = Duration::from_secs(120);

/// Where an index under test is kept. Dropping it may remove what it kept.
pub trait Place: Send + Sync + Sized + 'static {
    /// Whether what it needs is at hand; when not, the cases end at once.
    fn at_hand() -> bool {
        true
    }
    /// A new place with nothing in it.
    fn fresh() -> impl Future<Output = Self> + Send;
    /// The index. Called again after it was closed if the cases `durable` are asked for, and while another handle is open
    /// if the cases `shared` are asked for.
    fn open(&self) -> impl Future<Output = Arc<dyn Index>> + Send;
}

/// Runs one case to its end, on a runtime of its own.
///
/// # Panics
/// If the case fails or does not end.
pub fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async { tokio::time::timeout(CASE_MAX, case).await.expect("the case ends") });
}

/// Makes one `#[test]` for each case of the suite: `conformance!(MyPlace)`. A place that outlives its handles adds
/// `durable`, and one that several handles may hold at once adds `shared`.
#[macro_export]
macro_rules! conformance {
    ($place:ty $(, $more:ident)*) => {
        $crate::conformance!(@tests $place, writes: what_is_put_is_found_and_counted, a_document_is_replaced_by_its_id,
            the_last_change_of_a_document_counts, a_deleted_document_is_not_found, the_cursor_is_compared_and_set,
            a_cleared_index_begins_anew, many_documents_in_one_write);
        $crate::conformance!(@tests $place, ranking: titles_come_before_decisions_questions_and_bodies,
            what_has_more_of_the_words_comes_first, a_rare_word_counts_more, a_short_text_comes_before_a_long_one,
            of_two_as_near_the_newer_comes_first, the_limit_keeps_the_nearest, scores_fall);
        $crate::conformance!(@tests $place, scopes: other_projects_are_not_searched, several_projects_are_searched_at_once,
            a_window_and_drafts_are_left_out, odd_names_stay_apart);
        $crate::conformance!(@tests $place, words: forms_accents_and_identifiers_are_found, every_script_is_found,
            text_of_users_is_no_syntax, a_query_without_words_finds_nothing, a_large_document_is_taken,
            words_of_nearly_all_documents_are_common);
        $($crate::conformance!(@more $place, $more);)*
    };
    (@more $place:ty, durable) => {
        $crate::conformance!(@tests $place, durable: a_reopened_index_goes_on_where_it_stood);
    };
    (@more $place:ty, shared) => {
        $crate::conformance!(@tests $place, shared: both_handles_find_what_either_wrote, of_two_writers_one_wins,
            one_leads_and_the_next_takes_over);
    };
    (@tests $place:ty, $part:ident: $($case:ident),*) => {
        mod $part {
            #[allow(unused_imports, reason = "the place may be named by a path from the root")]
            use super::*;
            $(#[test]
            fn $case() {
                if <$place as $crate::conformance::Place>::at_hand() {
                    $crate::conformance::run($crate::conformance::$part::$case::<$place>());
                }
            })*
        }
    };
}

/// A document of the project `p` with these sections.
fn document(id: &str, sections: &[(Kind, &str)]) -> Document {
    let section = |(kind, text): &(Kind, &str)| Section { kind: *kind, text: (*text).to_owned() };
    Document {
        id: id.to_owned(),
        project: "p".to_owned(),
        created_at_ms: 1_700_000_000_000,
        is_draft: false,
        sections: sections.iter().map(section).collect(),
    }
}

/// A document with a body.
fn body(id: &str, text: &str) -> Document {
    document(id, &[(Kind::Body, text)])
}

/// Puts documents behind what is there.
async fn put(index: &dyn Index, documents: impl IntoIterator<Item = Document>) {
    let from = index.extent().await.expect("it answers").cursor;
    let changes: Vec<Change> = documents.into_iter().map(Change::Put).collect();
    let to = Position(from.0 + changes.len() as u64);
    assert_eq!(index.put(changes, from, to).await.expect("it is written"), PutOutcome::Done);
}

/// The ids that are found, the nearest first.
async fn found_in(index: &dyn Index, query: &str, scope: &Scope) -> Vec<String> {
    let query = Query::read(query).expect("it is a query");
    let hits = index.search(&query, scope, 100).await.expect("it answers");
    hits.into_iter().map(|hit| hit.id).collect()
}

/// The same in the project `p`.
async fn found(index: &dyn Index, query: &str) -> Vec<String> {
    found_in(index, query, &Scope::project("p")).await
}
