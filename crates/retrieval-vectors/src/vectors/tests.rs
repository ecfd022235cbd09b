//! The index with a model whose vectors are the words of a text, so that the common suite of indexes applies to it.
//! Must not know: any real model.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use plenary_retrieval::{Kind, Section, conformance, conformance::Storage};

use super::*;
use crate::{FileShelf, MemoryShelf};

/// A component for each word, by a digest of it; long enough that those of the tests do not meet.
struct WordEmbedder {
    dimension: AtomicUsize,
    fails: AtomicBool,
    hangs: AtomicBool,
    refuses_all: AtomicBool,
    texts: AtomicUsize,
}

impl WordEmbedder {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            dimension: AtomicUsize::new(8_192),
            fails: AtomicBool::default(),
            hangs: AtomicBool::default(),
            refuses_all: AtomicBool::default(),
            texts: AtomicUsize::default(),
        })
    }
}

#[async_trait]
impl Embedder for WordEmbedder {
    fn model(&self) -> &str {
        "words"
    }
    fn dimension(&self) -> Option<usize> {
        Some(self.dimension.load(Ordering::Relaxed))
    }
    fn tokens_max(&self) -> Option<usize> {
        None
    }
    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ModelFault> {
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if self.fails.load(Ordering::Relaxed) {
            return Err(ModelFault::Unavailable("no".into()));
        }
        let refuses_all = self.refuses_all.load(Ordering::Relaxed);
        if refuses_all || texts.iter().any(|text| text.contains("forbidden")) {
            return Err(ModelFault::Refused("no".into()));
        }
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        let dimension = self.dimension.load(Ordering::Relaxed);
        let vector = |text: &String| {
            let mut vector = vec![0.0; dimension];
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                let hash = word.to_lowercase().bytes().fold(7_usize, |hash, byte| {
                    hash.wrapping_mul(1_099_511_628_211).wrapping_add(usize::from(byte))
                });
                vector[(hash ^ hash >> 29) % dimension] += 1.0;
            }
            plenary_embeddings::normalise(&mut vector);
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}

struct OnFile(tempfile::TempDir);

impl OnFile {
    fn vectors(&self, embedder: Arc<WordEmbedder>) -> Vectors {
        let shelf = FileShelf::open(&self.0.path().join("vectors"), "words").unwrap();
        Vectors::new(embedder, Box::new(shelf))
    }
}

impl Storage for OnFile {
    async fn fresh() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    async fn open(&self) -> Arc<dyn Index> {
        Arc::new(self.vectors(WordEmbedder::new()))
    }
}

struct InMemory;

impl Storage for InMemory {
    async fn fresh() -> Self {
        Self
    }
    async fn open(&self) -> Arc<dyn Index> {
        Arc::new(Vectors::new(WordEmbedder::new(), Box::new(MemoryShelf::default())))
    }
}

mod on_file {
    use super::*;
    conformance!(@tests OnFile, writes: what_is_put_is_found_and_counted, a_document_is_replaced_by_its_id,
        the_last_change_of_a_document_counts, a_deleted_document_is_not_found, the_cursor_is_compared_and_set,
        a_cleared_index_begins_anew);
    conformance!(@tests OnFile, scopes: other_projects_are_not_searched, several_projects_are_searched_at_once,
        a_window_and_drafts_are_left_out, odd_names_stay_apart);
    conformance!(@more OnFile, durable);
}

mod in_memory {
    use super::*;
    conformance!(@tests InMemory, writes: what_is_put_is_found_and_counted, a_document_is_replaced_by_its_id,
        the_last_change_of_a_document_counts, a_deleted_document_is_not_found, the_cursor_is_compared_and_set,
        a_cleared_index_begins_anew);
}

fn document(id: &str, title: &str, body: &str) -> Change {
    let sections = [(Kind::Title, title), (Kind::Body, body)]
        .map(|(kind, text)| Section { kind, text: text.to_owned() })
        .to_vec();
    let (id, project) = (id.to_owned(), "p".to_owned());
    Change::Put(Document { id, project, created_at_ms: 0, is_draft: false, sections })
}

async fn found(index: &Vectors, query: &str) -> Result<Vec<String>, Fault> {
    let scope = Scope { projects: BTreeSet::from(["p".to_owned()]), ..Scope::default() };
    let hits = index.search(&Query::read(query).unwrap(), &scope, 10).await?;
    Ok(hits.into_iter().map(|hit| hit.id).collect())
}

#[tokio::test]
async fn what_did_not_change_gets_no_new_vectors_and_a_restart_makes_none() {
    let storage = OnFile::fresh().await;
    let embedder = WordEmbedder::new();
    let index = storage.vectors(embedder.clone());
    index.put(vec![document("a", "red", "apples")], Position(0), Position(1)).await.unwrap();
    assert_eq!(embedder.texts.load(Ordering::Relaxed), 2);
    index.put(vec![document("a", "red", "apples")], Position(1), Position(2)).await.unwrap();
    assert_eq!(embedder.texts.load(Ordering::Relaxed), 2);
    drop(index);
    let (embedder, index) = (WordEmbedder::new(), storage.vectors(WordEmbedder::new()));
    assert_eq!(index.extent().await, Ok(Extent { cursor: Position(2), documents: 1 }));
    assert_eq!(embedder.texts.load(Ordering::Relaxed), 0);
    assert_eq!(found(&index, "apples").await, Ok(vec!["a".to_owned()]));
}

#[tokio::test]
async fn vectors_of_another_size_are_made_anew() {
    let embedder = WordEmbedder::new();
    let index = Vectors::new(embedder.clone(), Box::new(MemoryShelf::default()));
    index.put(vec![document("a", "red", "apples")], Position(0), Position(1)).await.unwrap();
    embedder.dimension.store(4_096, Ordering::Relaxed);
    assert_eq!(found(&index, "apples").await, Ok(Vec::new()));
    let moved = index.put(vec![document("b", "green", "pears")], Position(1), Position(2)).await;
    assert_eq!(moved, Ok(PutOutcome::Moved(Position::ZERO)));
    let both = vec![document("a", "red", "apples"), document("b", "green", "pears")];
    assert_eq!(index.put(both, Position(0), Position(2)).await, Ok(PutOutcome::Done));
    assert_eq!(found(&index, "apples").await, Ok(vec!["a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_model_that_does_not_work() {
    let embedder = WordEmbedder::new();
    let index = Vectors::new(embedder.clone(), Box::new(MemoryShelf::default()));
    assert!(!index.works());
    let _asked = index.probe().await;
    assert!(index.works());
    index.put(vec![document("a", "red", "apples")], Position(0), Position(1)).await.unwrap();
    embedder.hangs.store(true, Ordering::Relaxed);
    let before = tokio::time::Instant::now();
    assert!(found(&index, "apples").await.is_err());
    assert!(before.elapsed() >= QUERY_TIME_MAX && before.elapsed() < 2 * QUERY_TIME_MAX);
    assert!(!index.works());
    let before = tokio::time::Instant::now();
    assert!(found(&index, "apples").await.is_err());
    assert_eq!(before.elapsed(), Duration::ZERO);
    embedder.hangs.store(false, Ordering::Relaxed);
    embedder.fails.store(true, Ordering::Relaxed);
    let failed = index.put(vec![document("b", "green", "pears")], Position(1), Position(2)).await;
    assert!(failed.is_err());
    assert_eq!(index.extent().await.unwrap().cursor, Position(1));
    embedder.fails.store(false, Ordering::Relaxed);
    tokio::time::advance(crate::health::REST).await;
    let _asked = index.probe().await;
    assert!(index.works());
    assert_eq!(found(&index, "apples").await, Ok(vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_text_that_the_model_refuses_stops_no_other() {
    let embedder = WordEmbedder::new();
    let index = Vectors::new(embedder.clone(), Box::new(MemoryShelf::default()));
    let _asked = index.probe().await;
    let all = || {
        vec![
            document("a", "red", "apples"),
            document("b", "red", "forbidden"),
            document("c", "green", "apples"),
        ]
    };
    embedder.refuses_all.store(true, Ordering::Relaxed);
    assert!(index.put(all(), Position(0), Position(3)).await.is_err(), "it is tried again");
    assert!(!index.works());
    embedder.refuses_all.store(false, Ordering::Relaxed);
    assert_eq!(index.put(all(), Position(0), Position(3)).await, Ok(PutOutcome::Done));
    assert!(index.works());
    let mut apples = found(&index, "apples").await.unwrap();
    apples.sort();
    assert_eq!(apples, ["a", "c"]);
    assert_eq!(found(&index, "red").await, Ok(vec!["a".to_owned()]));
    assert_eq!(index.extent().await, Ok(Extent { cursor: Position(3), documents: 3 }));
    assert!(found(&index, "forbidden").await.is_err());
    assert!(index.works(), "a query that is refused ends no other");
    let count = embedder.texts.load(Ordering::Relaxed);
    index.put(vec![document("b", "red", "forbidden")], Position(3), Position(4)).await.unwrap();
    assert_eq!(embedder.texts.load(Ordering::Relaxed), count);
    index.put(vec![document("b", "red", "allowed")], Position(4), Position(5)).await.unwrap();
    assert_eq!(found(&index, "allowed").await, Ok(vec!["b".to_owned()]));
}

#[tokio::test]
async fn past_its_memory_documents_have_no_vectors_and_the_index_goes_on() {
    let index = Vectors::bounded(WordEmbedder::new(), Box::new(MemoryShelf::default()), 1);
    index.put(vec![document("a", "red", "apples")], Position(0), Position(1)).await.unwrap();
    index.put(vec![document("b", "green", "apples")], Position(1), Position(2)).await.unwrap();
    assert_eq!(found(&index, "apples").await, Ok(vec!["a".to_owned()]));
    assert_eq!(index.extent().await, Ok(Extent { cursor: Position(2), documents: 2 }));
}

#[tokio::test]
async fn what_has_no_room_stays_in_the_file_and_comes_back_with_more_of_it() {
    let storage = OnFile::fresh().await;
    let index = storage.vectors(WordEmbedder::new());
    let count = 2 * APPLIED_AT_ONCE as u64;
    let documents = (0..count).map(|nth| document(&nth.to_string(), "red", "apples")).collect();
    index.put(documents, Position(0), Position(1)).await.unwrap();
    drop(index);
    let shelf = FileShelf::open(&storage.0.path().join("vectors"), "words").unwrap();
    let index = Vectors::bounded(WordEmbedder::new(), Box::new(shelf), 1);
    assert_eq!(index.extent().await.unwrap().documents, count);
    let all = |index: Vectors| async move {
        let hits = index.search(&Query::read("apples").unwrap(), &Scope::project("p"), HITS_MAX).await;
        hits.unwrap().len()
    };
    index.put(vec![document("new", "red", "apples")], Position(1), Position(2)).await.unwrap();
    assert_eq!(all(index).await, APPLIED_AT_ONCE, "the rest is in the file alone");
    let index = storage.vectors(WordEmbedder::new());
    assert_eq!(index.extent().await.unwrap().documents, count + 1);
    assert_eq!(all(index).await, 2 * APPLIED_AT_ONCE);
}

#[test]
fn texts_are_compared_without_being_stored() {
    conformance::run(async {
        let model = WordEmbedder::new();
        let index = Vectors::new(model.clone(), Box::new(MemoryShelf::default()));
        let query = Query::read("red door").unwrap();
        index.probe().await.unwrap();
        let texts = || vec!["a red door".to_owned(), "the boat".to_owned(), "Red door".to_owned()];
        let alike = index.likeness(&query, texts()).await.unwrap();
        assert!(alike[2] > alike[0] && alike[0] > 0.5 && alike[1] < 0.1, "{alike:?}");
        assert_eq!(index.extent().await.unwrap(), Extent::default());
        model.fails.store(true, Ordering::Relaxed);
        assert!(index.likeness(&query, texts()).await.is_err());
        assert!(!index.works(), "nobody waits for it again");
    });
}
