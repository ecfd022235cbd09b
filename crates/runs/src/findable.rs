//! The searchable text of runs, input and output, for callers that may read the thread.
//! Must not know: the ranking of results.

use std::collections::HashSet;

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::{OwnerName, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order, StoredEvent};
use plenary_retrieval::Change;
use plenary_room::{
    Findable, FoundItem, Reference, Searcher, Shelf, async_trait, body, indexed, indexed_at, texts,
};
use serde_json::Value;

use crate::{
    Runs,
    access::may_read,
    event::ThreadEvent,
    id::ThreadId,
    registry::handle_of,
    room::{OPENED, THREADS, ThreadRoom},
    runner::EventKind,
    runs::stream,
    state::ThreadState,
};

/// The kind of a text in a run, its author if the event names one, and the text.
type SearchableText = (&'static str, Option<Actor>, String);

/// The searchable text of an event: the input, the agent's output, its result.
fn searchable_text(event: &ThreadEvent) -> Option<SearchableText> {
    let input = |bytes: &[u8]| {
        let request: Value = serde_json::from_slice(bytes).unwrap_or_default();
        texts(request.get("input").or_else(|| request.get("args")).unwrap_or(&request))
    };
    let (kind, by, text) = match event {
        ThreadEvent::RunQueued(event) => ("input", Some(event.by.clone()), input(&event.request)),
        ThreadEvent::RunResumed(event) => ("input", Some(event.by.clone()), input(&event.request)),
        ThreadEvent::EventEmitted(event) if event.kind == EventKind::TextOutput => {
            let members: Value = serde_json::from_slice(&event.members).unwrap_or_default();
            ("output", None, texts(&members["content"]))
        }
        ThreadEvent::RunCompleted(event) => {
            let result = std::str::from_utf8(&event.result).unwrap_or_default();
            let text = serde_json::from_str(result).map_or_else(|_| result.to_owned(), |value| texts(&value));
            ("result", None, text)
        }
        ThreadEvent::RunReleased(_)
        | ThreadEvent::RunStarted(_)
        | ThreadEvent::EventEmitted(_)
        | ThreadEvent::CancelRequested(_)
        | ThreadEvent::QueuedRunCanceled(_) => return None,
    };
    (!text.trim().is_empty()).then_some((kind, by, text))
}

fn change(event: &StoredEvent) -> Option<Change> {
    let thread_event = match ThreadEvent::decode(event) {
        Ok(thread_event) => thread_event,
        Err(fault) => {
            tracing::error!(%fault, "the event of a run cannot be read and is not indexed");
            return None;
        }
    };
    let (_, _, text) = searchable_text(&thread_event)?;
    Some(indexed(event, event.at, text))
}

impl Runs {
    /// The agent of a thread as its path names it, if the actor may read the thread.
    fn readable_agent(&self, by: &Actor, state: &ThreadState) -> Option<(String, Actor)> {
        let opened = state.opened.as_ref()?;
        let by_handle = || handle_of(&opened.agent).and_then(|handle| self.agents().of(&handle));
        let agent = self.agents().get(&opened.agent).or_else(by_handle)?;
        let is_readable = agent.has_name(&opened.agent) && may_read(by, &opened.by, &agent.owner());
        is_readable.then(|| (agent.name().to_owned(), Actor::Agent(agent.handle.clone())))
    }

    async fn found_text(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault> {
        let Some((thread, version)) = indexed_at::<ThreadId>(id) else { return Ok(None) };
        let state = self.fresh(thread).await?;
        let Some((name, agent)) = self.readable_agent(&Actor::from(searcher), &state) else {
            return Ok(None);
        };
        let Some(stored) = self.log().read_stream(&stream(thread), Version(version.0 - 1), 1).await?.pop()
        else {
            return Ok(None);
        };
        let event = ThreadEvent::decode(&stored)?;
        let Some((kind, by, text)) = searchable_text(&event) else { return Ok(None) };
        let run = event.run().to_string();
        Ok(Some(FoundItem {
            kind,
            path: format!("/agent/{name}/runs/{run}"),
            about: state.opened.as_ref().and_then(|opened| opened.title.clone()),
            by: Some(by.unwrap_or(agent).to_string()),
            at_ms: stored.at.ms(),
            sections: body(text),
            reference: Reference {
                agent: Some(name),
                run_id: Some(run),
                thread_id: Some(thread.to_string()),
                ..Reference::default()
            },
        }))
    }

    /// The threads that an owner may read: those that it or its agents opened, then those that others, who may open many, opened
    /// with its agents.
    async fn readable_by_owner(&self, owner: &OwnerName) -> Result<Vec<IndexedThread>, Fault> {
        let agents: Vec<_> =
            self.agents().all().into_iter().filter(|agent| agent.owner() == *owner).collect();
        let mut own = self.threads_below(OPENED, &format!("@{owner}.")).await?;
        // The owner does not read what its agents say to those of others.
        own.retain(|thread| agents.iter().any(|agent| agent.has_name(&thread.agent)));
        own.extend(self.threads_below(OPENED, &format!("~{owner}/")).await?);
        let mut others = Vec::new();
        for agent in agents {
            others.extend(self.threads_below(THREADS, &format!("{}/", agent.name())).await?);
        }
        let known: HashSet<&IndexedThread> = own.iter().collect();
        others.retain(|thread| !known.contains(thread));
        let mut threads = newest(own);
        threads.extend(newest(others));
        Ok(threads)
    }

    async fn threads_below(&self, index: &'static str, prefix: &str) -> Result<Vec<IndexedThread>, Fault> {
        let rows = self.log().read_index(index, prefix, None, READ_ROWS_MAX, Order::Descending).await?;
        let thread = |key: &str| {
            let mut parts = key.rsplit('/').map(str::to_owned);
            let (id, at) = (parts.next()?, parts.next()?);
            Some(IndexedThread { at, id, agent: parts.next()? })
        };
        Ok(rows.iter().filter_map(|row| thread(&row.key)).collect())
    }
}

/// A thread as an index has it. The later it was opened, the greater it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct IndexedThread {
    /// The time at which it was opened.
    at: String,
    id: String,
    /// The name of its agent.
    agent: String,
}

fn newest(mut threads: Vec<IndexedThread>) -> Vec<IndexedThread> {
    threads.sort_unstable_by(|one, other| other.cmp(one));
    threads
}

#[async_trait]
impl Findable for Runs {
    fn room(&self) -> &'static str {
        "runs"
    }

    fn categories(&self) -> &'static [&'static str] {
        &[ThreadRoom::CATEGORY]
    }

    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        Ok(change(event))
    }

    async fn shelves(&self, searcher: &Searcher, max: usize) -> Result<Vec<Shelf>, Fault> {
        let threads = match searcher {
            Searcher::Operator => newest(self.threads_below(THREADS, "").await?),
            Searcher::Owner(owner) => self.readable_by_owner(owner).await?,
            Searcher::Agent(agent) => newest(self.threads_below(OPENED, &format!("{agent}/")).await?),
        };
        Ok(threads.into_iter().take(max).map(|thread| Shelf::new(thread.id)).collect())
    }

    async fn read(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault> {
        self.found_text(searcher, id).await
    }
}
