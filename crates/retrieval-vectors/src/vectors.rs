//! The vector index: changed documents get vectors, which go to the storage and into memory, where a query is
//! compared
//! with them.
//! Must not know: where the storage is, how a model works.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, RwLock};
use plenary_embeddings::{Embedder, Fault as ModelFault, Purpose};
use plenary_kernel::Position;
use plenary_retrieval::{
    Answer, Change, Document, Extent, Fault, HITS_MAX, Hit, Index, Kind, Mark, PartHit, PutOutcome, Query,
    Scope, Section, Semantic, parts,
};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use crate::{
    closeness::{Remembering, WORDS_BYTES_MAX},
    codes::{Code, DIMENSION_MAX, Probe},
    health::Health,
    journal_entry::{Entry, JournalEntry},
    projects::Projects,
    shelf::{News, Shelf},
};

/// How long a query waits for its vector.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(1);
/// Default memory limit for the vectors of a process, in bytes; documents beyond it are found by their words
/// only.
pub const VECTORS_BYTES_MAX: usize = 4 << 30;
/// Changes that are applied under one lock; searches may run in between.
const APPLIED_AT_ONCE: usize = 32;
/// A text that no model refuses.
const PROBE: &str = "plenary";
/// Parts per call of the model.
const BATCH: usize = 16;
/// The share of each neighbour in the vector of a passage: a short turn of a conversation is also found by the
/// turn that it
/// answers.
const NEIGHBOUR_SHARE: f32 = 0.25;

/// The vector index.
pub struct Vectors {
    embedder: Remembering,
    shelf: Box<dyn Shelf>,
    state: Arc<RwLock<ProjectVectors>>,
    health: Health,
    /// Locked while the shelf is read or written, so that changes reach memory in order.
    order: tokio::sync::Mutex<()>,
    bytes_max: usize,
    full: Mutex<bool>,
}

#[derive(Debug, Default)]
struct ProjectVectors {
    projects: Projects,
    mark: Mark,
    cursor: Position,
    dimension: Option<usize>,
    /// Whether the shelf has vectors that exceed the memory limit.
    is_partial: bool,
}

impl ProjectVectors {
    fn apply(&mut self, changes: Vec<JournalEntry>) {
        for change in changes {
            if let JournalEntry::Put(Entry { codes, .. }) = &change {
                self.dimension = codes.first().map(|code| code.parts.len()).or(self.dimension);
            }
            self.projects.apply(change);
        }
    }
}

impl Vectors {
    /// An index on a shelf, with the limit [`VECTORS_BYTES_MAX`]; reads nothing yet.
    pub fn new(embedder: Arc<dyn Embedder>, shelf: Box<dyn Shelf>) -> Self {
        Self::bounded(embedder, shelf, VECTORS_BYTES_MAX)
    }

    /// An index on a shelf with this memory limit, in bytes; reads nothing yet.
    pub fn bounded(embedder: Arc<dyn Embedder>, shelf: Box<dyn Shelf>, bytes_max: usize) -> Self {
        Self {
            embedder: Remembering::new(embedder, WORDS_BYTES_MAX),
            shelf,
            state: Arc::default(),
            health: Health::default(),
            order: tokio::sync::Mutex::default(),
            bytes_max,
            full: Mutex::default(),
        }
    }

    fn read<T>(&self, what: impl FnOnce(&ProjectVectors) -> T) -> T {
        what(&self.state.read())
    }

    fn write<T>(&self, what: impl FnOnce(&mut ProjectVectors) -> T) -> T {
        what(&mut self.state.write())
    }

    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        self.ask(purpose, texts).await.map_err(|fault| unavailable(&fault))
    }

    /// Asks the model, and notes whether it works. One that worked before may refuse single texts.
    async fn ask(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ModelFault> {
        let done = self.embedder.embed(purpose, texts).await;
        let done = match done {
            Ok(vectors) if vectors.iter().all(|vector| vector.len() <= DIMENSION_MAX) => Ok(vectors),
            Ok(_) => {
                Err(ModelFault::Unusable(format!("its vectors have more than {DIMENSION_MAX} components")))
            }
            Err(fault) => Err(fault),
        };
        if matches!(done, Err(ModelFault::Refused(_))) && self.health.works() {
            return done;
        }
        let is_news = self.health.note(done.is_ok());
        match &done {
            Ok(_) if is_news => tracing::info!(model = self.embedder.model(), "search by meaning works"),
            Err(fault) if is_news => {
                tracing::warn!(model = self.embedder.model(), %fault, "search by meaning does not work; words are searched");
            }
            _ => {}
        }
        done
    }

    /// The vectors of documents' texts.
    async fn embed_all(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelFault> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(BATCH) {
            vectors.extend(self.ask(Purpose::Document, texts.to_vec()).await?);
        }
        Ok(vectors)
    }

    /// The vectors of one document's texts; none if the model refuses them.
    async fn embed_alone(&self, id: &str, texts: &[String]) -> Result<Vec<Vec<f32>>, Fault> {
        match self.embed_all(texts).await {
            Err(ModelFault::Refused(why)) => {
                // A model that refuses every text has a wrong setting, and the document is tried again.
                let probe = self.embedder.embed(Purpose::Document, vec![PROBE.to_owned()]).await;
                if let Err(fault) = probe {
                    self.health.note(false);
                    return Err(unavailable(&fault));
                }
                tracing::warn!(
                    id,
                    why,
                    "the model refuses the text of a document, which is found only by its words"
                );
                Ok(Vec::new())
            }
            done => done.map_err(|fault| unavailable(&fault)),
        }
    }

    /// Loads the changes of the shelf that are not in memory yet.
    async fn catch_up(&self) -> Result<(), Fault> {
        loop {
            let mark = self.read(|state| state.mark);
            let News { changes, mark, cursor, anew, more } = self.shelf.news(mark).await?;
            if anew {
                self.write(|state| *state = ProjectVectors::default());
            }
            self.take_in(changes).await?;
            self.write(|state| (state.mark, state.cursor) = (mark, cursor));
            if !more {
                return Ok(());
            }
        }
    }

    /// Applies changes in memory. Vectors beyond the limit stay on the shelf only.
    async fn take_in(&self, changes: Vec<JournalEntry>) -> Result<(), Fault> {
        let (state, bytes_max) = (self.state.clone(), self.bytes_max);
        let work = tokio::task::spawn_blocking(move || {
            let mut changes = changes.into_iter().peekable();
            while changes.peek().is_some() {
                let mut state = state.write();
                let is_full = state.projects.bytes() >= bytes_max;
                let some = changes.by_ref().take(APPLIED_AT_ONCE).map(|change| match change {
                    JournalEntry::Put(entry) if is_full && !entry.codes.is_empty() => {
                        JournalEntry::Put(Entry { codes: Vec::new(), digest: NO_DIGEST, ..entry })
                    }
                    change @ (JournalEntry::Put(_) | JournalEntry::Delete(_)) => change,
                });
                let some: Vec<_> = some.collect();
                state.is_partial |= some.iter().any(is_left_out);
                state.apply(some);
            }
        });
        work.await.map_err(|_| Fault::Unavailable("taking in vectors broke off".into()))
    }

    /// The changes with their vectors. A document with unchanged parts keeps its vectors.
    async fn vectors_for(&self, changes: Vec<Change>) -> Result<Vec<JournalEntry>, Fault> {
        let mut last = HashMap::new();
        for change in changes {
            last.insert(change.id().to_owned(), change);
        }
        let (mut entries, mut wanting) = (Vec::new(), Vec::new());
        for (id, change) in last {
            let Some(document) = change.document() else {
                entries.push(JournalEntry::Delete(id));
                continue;
            };
            let (texts, passages) = if self.has_room() { texts_of(&document) } else { Default::default() };
            let digest = digest(&texts);
            let known = self.read(|state| {
                let same = state.projects.digest(&id) == Some(digest);
                same.then(|| state.projects.entry(&id)).flatten()
            });
            let known = known.map(|entry| entry.codes);
            if known.is_none() {
                wanting.push(Wanting { at: entries.len(), id, texts, passages });
            }
            entries.push(JournalEntry::Put(entry(document, digest, known.unwrap_or_default())));
        }
        let texts: Vec<String> = wanting.iter().flat_map(|wanting| wanting.texts.iter().cloned()).collect();
        let together = match self.embed_all(&texts).await {
            Err(ModelFault::Refused(_)) => None,
            done => Some(done.map_err(|fault| unavailable(&fault))?),
        };
        let mut together = together.map(Vec::into_iter);
        for Wanting { at, id, texts, passages } in wanting {
            let vectors: Vec<_> = match &mut together {
                Some(vectors) => vectors.by_ref().take(texts.len()).collect(),
                None => self.embed_alone(&id, &texts).await?,
            };
            if let JournalEntry::Put(entry) = &mut entries[at] {
                let (sections, mixed) = vectors.split_at(vectors.len().saturating_sub(passages));
                let mixed = (0..mixed.len()).map(|nth| with_neighbours(mixed, nth));
                let vectors = sections.iter().cloned().chain(mixed);
                entry.codes = vectors.map(|vector| Code::of(&vector)).collect();
            }
        }
        Ok(entries)
    }

    fn has_room(&self) -> bool {
        let has_room = self.read(|state| state.projects.bytes()) < self.bytes_max;
        let mut full = self.full.lock();
        if !has_room && !*full {
            tracing::warn!(
                bytes_max = self.bytes_max,
                "the vectors have reached their memory limit; further documents are found only by words"
            );
        }
        *full = !has_room;
        has_room
    }

    async fn put_in_order(
        &self,
        changes: Vec<Change>,
        from: Position,
        to: Position,
    ) -> Result<PutOutcome, Fault> {
        let _turn = self.order.lock().await;
        self.catch_up().await?;
        let cursor = self.read(|state| state.cursor);
        if cursor != from {
            return Ok(PutOutcome::Moved(cursor));
        }
        let entries = self.vectors_for(changes).await?;
        let found = dimensions(&entries);
        let known = self.read(|state| state.dimension);
        if found.windows(2).any(|pair| pair[0] != pair[1])
            || found.iter().any(|found| known.is_some_and(|known| known != *found))
        {
            tracing::warn!("the size of the model's vectors has changed; all vectors are computed again");
            self.empty().await?;
            return Ok(PutOutcome::Moved(Position::ZERO));
        }
        let Some(mark) = self.shelf.put(entries.clone(), from, to).await? else {
            self.catch_up().await?;
            return Ok(PutOutcome::Moved(self.read(|state| state.cursor)));
        };
        self.take_in(entries).await?;
        self.write(|state| (state.mark, state.cursor) = (mark, to));
        self.tidy(to).await?;
        Ok(PutOutcome::Done)
    }

    /// Rewrites the shelf if most of it is obsolete.
    async fn tidy(&self, cursor: Position) -> Result<(), Fault> {
        let (bytes, is_partial) = self.read(|state| (state.projects.bytes(), state.is_partial));
        if is_partial || !self.shelf.is_crowded(bytes) {
            return Ok(());
        }
        let ids: Vec<String> = self.read(|state| state.projects.ids().map(str::to_owned).collect());
        let state = self.state.clone();
        let all =
            ids.into_iter().filter_map(move |id| state.read().projects.entry(&id)).map(JournalEntry::Put);
        let mark = self.shelf.rewrite(Box::new(all), cursor).await?;
        self.write(|state| state.mark = mark);
        Ok(())
    }

    async fn empty(&self) -> Result<(), Fault> {
        let mark = self.shelf.clear().await?;
        self.write(|state| *state = ProjectVectors { mark, ..ProjectVectors::default() });
        Ok(())
    }

    async fn compare(&self, query: &Query, texts: Vec<String>) -> Result<Vec<f64>, Fault> {
        if !self.health.works() {
            return Err(Fault::Unavailable("the model does not work".into()));
        }
        let embedding = timeout(QUERY_TIME_MAX, async {
            let query_vectors = self.embed(Purpose::Query, vec![query.text().to_owned()]).await?;
            Ok((query_vectors, self.embed(Purpose::Document, texts).await?))
        });
        let (query_vectors, vectors) =
            embedding.await.map_err(|_| Fault::Unavailable("the model did not answer in time".into()))??;
        let query_vector = query_vectors.first().map(Vec::as_slice).unwrap_or_default();
        let alike = |vector: &Vec<f32>| {
            let product: f32 = vector.iter().zip(query_vector).map(|(one, other)| one * other).sum();
            f64::from(product).clamp(0.0, 1.0)
        };
        Ok(vectors.iter().map(alike).collect())
    }

    async fn find(&self, query: &Query, scope: &Scope, limit: usize) -> Result<Vec<PartHit>, Fault> {
        if !self.health.works() && !self.health.may_try() {
            return Err(Fault::Unavailable("the model does not work".into()));
        }
        let embedding = timeout(QUERY_TIME_MAX, self.embed(Purpose::Query, vec![query.text().to_owned()]));
        let vectors = embedding.await.map_err(|_| {
            self.health.note(false);
            Fault::Unavailable("the model did not answer in time".into())
        })??;
        let (state, scope) = (self.state.clone(), scope.clone());
        let work = tokio::task::spawn_blocking(move || {
            let state = state.read();
            let usable = vectors.first().filter(|vector| state.dimension == Some(vector.len()));
            usable.map_or_else(Vec::new, |vector| {
                state.projects.search(&Probe::of(vector), &scope, limit.min(HITS_MAX))
            })
        });
        work.await.map_err(|_| Fault::Unavailable("the search broke off".into()))
    }
}

/// A document without vectors yet.
struct Wanting {
    /// Its place among the entries.
    at: usize,
    id: String,
    texts: Vec<String>,
    /// The number of its last texts that are passages of its body.
    passages: usize,
}

fn unavailable(fault: &ModelFault) -> Fault {
    Fault::Unavailable(fault.to_string())
}

/// The digest of a document whose vectors are not in memory, which distinguishes it from one without vectors.
const NO_DIGEST: u64 = 0;

fn is_left_out(change: &JournalEntry) -> bool {
    matches!(change, JournalEntry::Put(Entry { digest: NO_DIGEST, .. }))
}

/// The parts of a document, and how many of the last ones are passages of its body.
fn texts_of(document: &Document) -> (Vec<String>, usize) {
    let parts = parts(&document.sections);
    let passages = parts.iter().filter(|part| part.kind == Kind::Body).count();
    (parts.into_iter().map(|part| part.text.to_owned()).collect(), passages)
}

/// The `nth` vector mixed with its neighbours, with its length unchanged.
fn with_neighbours(vectors: &[Vec<f32>], nth: usize) -> Vec<f32> {
    let length = |vector: &[f32]| vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    let own = &vectors[nth];
    let mut mixed = own.clone();
    let neighbours = [nth.checked_sub(1), Some(nth + 1)];
    for other in neighbours.into_iter().flatten().filter_map(|at| vectors.get(at)) {
        for (part, other) in mixed.iter_mut().zip(other) {
            *part += NEIGHBOUR_SHARE * other;
        }
    }
    let scale = length(own) / length(&mixed);
    if scale.is_finite() {
        mixed.iter_mut().for_each(|part| *part *= scale);
    }
    mixed
}

/// A digest that is equal for two documents with the same parts.
fn digest(parts: &[String]) -> u64 {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn entry(document: Document, digest: u64, codes: Vec<Code>) -> Entry {
    let Document { id, project, created_at_ms, is_draft, sections: _ } = document;
    Entry { id, project, created_at_ms, is_draft, digest, codes }
}

fn dimensions(entries: &[JournalEntry]) -> Vec<usize> {
    let codes = entries.iter().filter_map(|entry| match entry {
        JournalEntry::Put(entry) => Some(&entry.codes),
        JournalEntry::Delete(_) => None,
    });
    codes.flatten().map(|code| code.parts.len()).collect()
}

impl Index for Vectors {
    fn leads(&self) -> Answer<'_, bool> {
        self.shelf.leads()
    }

    fn extent(&self) -> Answer<'_, Extent> {
        Box::pin(async {
            let _turn = self.order.lock().await;
            self.catch_up().await?;
            Ok(self
                .read(|state| Extent { cursor: state.cursor, documents: state.projects.documents() as u64 }))
        })
    }

    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, PutOutcome> {
        Box::pin(self.put_in_order(changes, from, to))
    }

    fn clear(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let _turn = self.order.lock().await;
            self.empty().await
        })
    }

    fn search<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<Hit>> {
        Box::pin(async move {
            let found = self.find(query, scope, limit).await?;
            Ok(found.into_iter().map(|hit| Hit { id: hit.id, score: hit.score }).collect())
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let _turn = self.order.lock().await;
            Ok(())
        })
    }
}

impl Semantic for Vectors {
    fn works(&self) -> bool {
        self.health.works()
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async {
            if !self.health.works() && self.health.may_try() {
                self.embed(Purpose::Query, vec![PROBE.to_owned()]).await?;
            }
            Ok(())
        })
    }

    fn nearest<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<PartHit>> {
        Box::pin(self.find(query, scope, limit))
    }

    fn likeness<'a>(&'a self, query: &'a Query, texts: Vec<String>) -> Answer<'a, Vec<f64>> {
        Box::pin(self.compare(query, texts))
    }

    fn closeness<'a>(
        &'a self,
        query: &'a Query,
        rarities: &'a HashMap<String, f64>,
        documents: Vec<Vec<Section>>,
    ) -> Answer<'a, Vec<Option<f64>>> {
        let weigh = |word: &str| rarities.get(word).copied().unwrap_or_default();
        let texts =
            |sections: Vec<Section>| parts(&sections).iter().map(|part| part.text.to_owned()).collect();
        let documents = documents.into_iter().map(texts).collect();
        Box::pin(async move { Ok(self.embedder.closeness(query.text(), weigh, documents).await) })
    }
}

#[cfg(test)]
mod tests;
