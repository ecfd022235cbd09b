//! Packages and facts as results of the search over everything: packages from the indexes of this room, by words and by
//! meaning, and current facts from the index of everything.
//! Must not know: how results are ranked.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_indexing::{FRESH_WITHIN, unavailable};
use plenary_kernel::{Version, json::Tree};
use plenary_log::{Fault, Order, StoredEvent};
use plenary_retrieval::{Change, Document, Hit, Kind, Query, Scope, Section};
use plenary_room::{Findable, FoundItem, OwnHits, Reference, Searcher, Shelf, async_trait};
use serde_json::Value;

use super::documents::sections;
use crate::{
    Context, Failure,
    attribution::author,
    fact::{event::FactEvent, room::FactRoom},
    index::CURRENT,
    moment::Moment,
    project_names::reference,
};

/// The prefixes of the ids of packages and of facts.
const PACKAGE: &str = "package/";
const FACT: &str = "fact/";

/// The searchable text of a fact; subject and predicate are its title.
pub(crate) fn fact_sections(document: &Value) -> Vec<Section> {
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let about = format!("{} {}", text("subject"), text("predicate"));
    let body = format!("{about}: {}", text("value"));
    vec![Section { kind: Kind::Title, text: about }, Section { kind: Kind::Body, text: body }]
}

fn created_ms(document: &Value) -> i64 {
    document["created_at"].as_str().and_then(Moment::parse).map_or(0, |at| at.ms())
}

fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Context {
    /// The fact that is current now for the subject and predicate of a stream.
    async fn current(&self, id: &str) -> Result<Option<Value>, Fault> {
        let rows = self.log().read_index(CURRENT, id, None, 1, Order::Ascending).await?;
        let row = rows.into_iter().find(|row| row.key == id);
        Ok(row.and_then(|row| serde_json::from_slice(&row.value).ok()))
    }

    /// The author of a current fact. The stream's last event has its bearer, unless it is of another fact: then the name that
    /// the fact states counts.
    async fn author_of(&self, id: &str, fact: &Value) -> Result<Option<String>, Fault> {
        let Some(name) = fact["asserted_by"]["id"].as_str() else { return Ok(None) };
        let (_, last) = self.fact_states().fresh(id).await?;
        let stream = FactRoom::stream(id);
        let stored = self.log().read_stream(&stream, Version(last.0.saturating_sub(1)), 1).await?.pop();
        let event = stored.map(|stored| FactEvent::decode(&stored)).transpose()?;
        let asserted = match event {
            Some(FactEvent::FactAsserted(event)) => Some((event.by, event.document)),
            Some(FactEvent::FactMerged(event)) => Some((event.by, event.document)),
            Some(FactEvent::FactInvalidated(_) | FactEvent::FactShortened(_)) | None => None,
        };
        let is_it = |document: &[u8]| {
            serde_json::from_slice::<Value>(document)
                .is_ok_and(|document| document["fact_id"] == fact["fact_id"])
        };
        let by = asserted.filter(|(_, document)| is_it(document)).map(|(by, _)| by);
        Ok(Some(by.map_or_else(|| name.to_owned(), |by| author(&by, name))))
    }

    async fn found_package(&self, by: &Actor, id: &str) -> Result<Option<FoundItem>, Fault> {
        let Some((key, _)) = id.split_once('/') else { return Ok(None) };
        let project = self.project(key).await?;
        if !project.access(by).read {
            return Ok(None);
        }
        let Some(stored_package) = self.sound_package(id).await? else { return Ok(None) };
        let present = &stored_package.present;
        let package: Value = serde_json::from_str(&stored_package.text).unwrap_or_default();
        let text = |name: &str| package[name].as_str().map(str::to_owned);
        let (project_id, package_id) = (self.shortest_name(by, key, &project).await?, text("package_id"));
        let path = package_id.as_deref().map(percent_encode).unwrap_or_default();
        Ok(Some(FoundItem {
            kind: "package",
            path: format!("/v1/packages/{path}?project={}", percent_encode(&project_id)),
            about: text("title"),
            by: Some(author(&stored_package.by, &present.created_by.id)),
            at_ms: present.created_at.ms(),
            sections: sections(&Tree::from(&package)),
            reference: Reference { project_id: Some(project_id), package_id, ..Reference::default() },
        }))
    }

    async fn found_fact(&self, by: &Actor, id: &str) -> Result<Option<FoundItem>, Fault> {
        let Some((key, _)) = id.split_once('/') else { return Ok(None) };
        let project = self.project(key).await?;
        if !project.access(by).read {
            return Ok(None);
        }
        let Some(fact) = self.current(id).await? else { return Ok(None) };
        let text = |name: &str| fact[name].as_str().unwrap_or_default();
        let project_id = self.shortest_name(by, key, &project).await?;
        let (subject, predicate) = (percent_encode(text("subject")), percent_encode(text("predicate")));
        let path = format!(
            "/v1/projects/{}/facts?subject={subject}&predicate={predicate}",
            percent_encode(&project_id)
        );
        Ok(Some(FoundItem {
            kind: "fact",
            path,
            about: Some(format!("{} {}", text("subject"), text("predicate"))),
            by: self.author_of(id, &fact).await?,
            at_ms: created_ms(&fact),
            sections: fact_sections(&fact),
            reference: Reference { project_id: Some(project_id), ..Reference::default() },
        }))
    }
}

#[async_trait]
impl Findable for Context {
    fn room(&self) -> &'static str {
        "context"
    }

    fn categories(&self) -> &'static [&'static str] {
        &[FactRoom::CATEGORY]
    }

    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        if let Err(fault) = FactEvent::decode(event) {
            tracing::error!(%fault, "the event of a fact cannot be read and is not indexed");
            return Ok(None);
        }
        // Index the fact that is current now, whatever the event was.
        let id = event.stream.id();
        let found = format!("{FACT}{id}");
        let Some(fact) = self.current(id).await? else { return Ok(Some(Change::Delete(found))) };
        let project = id.split_once('/').map_or(id, |(project, _)| project).to_owned();
        let sections = fact_sections(&fact);
        let created_at_ms = created_ms(&fact);
        Ok(Some(Change::Put(Document { id: found, project, created_at_ms, is_draft: false, sections })))
    }

    async fn shelves(&self, searcher: &Searcher, max: usize) -> Result<Vec<Shelf>, Fault> {
        let by = Actor::from(searcher);
        let visible = self.admitted(&by, max).await?;
        let mut others = self.references(&by, &visible).await?;
        let shelves = visible.iter().map(|(key, state)| {
            let plain = others.remove(key.as_str()).is_none().then(|| state.project_id.clone());
            let projects = plain.into_iter().chain([reference(state)]).collect();
            Shelf { projects, ..Shelf::new(key.clone()) }
        });
        Ok(shelves.collect())
    }

    async fn shelf(&self, searcher: &Searcher, name: &str) -> Result<Option<Shelf>, Fault> {
        let by = Actor::from(searcher);
        let (key, project) = match self.readable(name, &by).await {
            Ok(found) => found,
            Err(Failure::Rejected(_) | Failure::OverQuota(_)) => return Ok(None),
            Err(Failure::Fault(fault)) => return Err(fault),
        };
        let is_admitted = self.is_admitted(&by, &project).await?;
        Ok(is_admitted.then(|| Shelf { projects: vec![name.to_owned()], ..Shelf::new(key) }))
    }

    async fn read(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault> {
        let by = Actor::from(searcher);
        match (id.strip_prefix(PACKAGE), id.strip_prefix(FACT)) {
            (Some(id), _) => self.found_package(&by, id).await,
            (_, Some(id)) => self.found_fact(&by, id).await,
            (None, None) => Ok(None),
        }
    }

    async fn own_hits(&self, query: &Query, scope: Scope, max: usize) -> Result<OwnHits, Fault> {
        self.search().until(self.log().head().await?, FRESH_WITHIN).await;
        let prefixed = |hits: Vec<Hit>| -> Vec<Hit> {
            hits.into_iter().map(|hit| Hit { id: format!("{PACKAGE}{}", hit.id), ..hit }).collect()
        };
        let words = async { self.search().index().search(query, &scope, max).await.map_err(unavailable) };
        let (words, meaning) = tokio::join!(words, self.semantic_hits(query, &scope, max));
        Ok(OwnHits { words: prefixed(words?), meaning: meaning.map(prefixed) })
    }
}
