//! Facts as a room of the engine.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, SideEvents};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, NewEvent, RowOp, StreamName};

use super::{
    command::{AssertFact, InvalidateFact, Source},
    decide::{self, FactContext, NewFact},
    document::{Assertion, id_of},
    event::{FactEvent, FactMerged, OutrankedFact},
    state::FactState,
};
use crate::{
    Context,
    activity::{event::Activity, room::note},
    index::{CURRENT, FACT_TIMES, FACTS, beside, ended},
    key,
    moment::Moment,
    project::{decide::InProject, room::made_beside},
    rejection::Rejection,
};

/// The streams `context.fact/<project>/<subject>/<predicate>`.
#[derive(Debug)]
pub struct FactRoom;

impl Room for FactRoom {
    type State = FactState;
    type Event = FactEvent;
    const CATEGORY: &'static str = "context.fact";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut FactState, _: Version, _: TimestampMs, event: &FactEvent) {
        state.evolve(event);
    }
    fn payer(_: &str, _: &FactState, event: &FactEvent) -> Option<OwnerName> {
        match event {
            FactEvent::FactAsserted(event) => event.by.owner(),
            FactEvent::FactMerged(event) => event.by.owner(),
            FactEvent::FactInvalidated(_) | FactEvent::FactShortened(_) => None,
        }
    }
    fn follow(id: &str, version: Version, event: &FactEvent) -> Vec<(StreamName, NewEvent)> {
        let activities: &[Activity] = match event {
            FactEvent::FactAsserted(event) if event.supersedes.is_some() => {
                &[Activity::FactSuperseded, Activity::FactAsserted]
            }
            FactEvent::FactAsserted(_) => &[Activity::FactAsserted],
            FactEvent::FactMerged(event) if event.outranks.is_some() => {
                &[Activity::FactSuperseded, Activity::FactAsserted]
            }
            FactEvent::FactMerged(_) => &[Activity::FactAsserted],
            FactEvent::FactInvalidated(_) | FactEvent::FactShortened(_) => &[Activity::FactInvalidated],
        };
        let trace = match event {
            FactEvent::FactAsserted(event) => event.trace.as_ref(),
            FactEvent::FactMerged(_) | FactEvent::FactInvalidated(_) | FactEvent::FactShortened(_) => None,
        };
        activities.iter().map(|activity| note(*activity, id, version, None, trace.cloned())).collect()
    }
    fn index(id: &str, event: &FactEvent) -> Vec<IndexOp> {
        let since = |moment: Moment| key::join(&[id, moment.as_str()]);
        let end = |since_when: Moment, at: String| IndexOp::put_value(FACTS, ended(&since(since_when)), at);
        match event {
            FactEvent::FactAsserted(event) => {
                let begins = || event.text.clone().unwrap_or_else(|| event.valid_from.micros());
                let ended = event.supersedes.map(|earlier| end(earlier, begins()));
                ended
                    .into_iter()
                    .chain([
                        IndexOp::put_value(FACTS, since(event.valid_from), event.document.clone()),
                        IndexOp::put_value(CURRENT, id.to_owned(), event.document.clone()),
                    ])
                    .chain(timed(id, event.valid_from.as_str()))
                    .collect()
            }
            FactEvent::FactInvalidated(event) => vec![
                end(event.valid_from, event.text.clone().unwrap_or_else(|| event.valid_to.micros())),
                IndexOp::delete(CURRENT, id.to_owned()),
            ],
            FactEvent::FactMerged(event) => merged(id, event),
            FactEvent::FactShortened(event) => vec![end(event.valid_from, event.ended.text.clone())],
        }
    }
}

/// The index changes for a fact of another server.
fn merged(id: &str, event: &FactMerged) -> Vec<IndexOp> {
    let place = |at: String, document: Bytes| {
        [Some(IndexOp::put_value(FACTS, key::join(&[id, &at]), document)), timed(id, &at)]
            .into_iter()
            .flatten()
    };
    let document = || event.document.clone();
    if let Some(fact_id) = &event.outranked {
        return place(beside(event.valid_from, fact_id), document()).collect();
    }
    let mut ops = Vec::new();
    if let Some(OutrankedFact { fact_id, document }) = &event.outranks {
        ops.extend(place(beside(event.valid_from, fact_id), document.clone().into()));
    }
    ops.extend(place(event.valid_from.as_str().to_owned(), document()));
    let end = ended(&key::join(&[id, event.valid_from.as_str()]));
    ops.push(match &event.ended {
        Some(ended) => IndexOp::put_value(FACTS, end, ended.text.clone()),
        None => IndexOp::delete(FACTS, end),
    });
    if event.is_last {
        ops.push(match &event.ended {
            Some(_) => IndexOp::delete(CURRENT, id.to_owned()),
            None => IndexOp::put_value(CURRENT, id.to_owned(), document()),
        });
    }
    ops
}

/// The row that lists a fact of a project by time.
fn timed(id: &str, at: &str) -> Option<IndexOp> {
    let (project, of) = id.split_once('/')?;
    let key = key::join(&[project, at, of]);
    Some(IndexOp::put(FACT_TIMES, key))
}

/// The row that holds which fact of a project has an id: ids are unique in a project (AP-41).
pub(crate) fn id_row(project: &str, fact_id: &str) -> String {
    format!("context.fact_id/{}", key::join(&[project, &key::part(fact_id)]))
}

pub(crate) fn stream_id(project: &str, subject: &str, predicate: &str) -> String {
    key::join(&[project, &key::part(subject), &key::part(predicate)])
}

/// A command on facts with its context.
pub(crate) struct OnFacts<'a, C> {
    pub(crate) context: &'a Context,
    /// The project's key.
    pub(crate) project: &'a str,
    pub(crate) command: &'a C,
}

impl OnFacts<'_, AssertFact> {
    /// The row that claims the id of a new fact.
    fn claim(&self, fact: &NewFact, since: Moment) -> Option<RowOp> {
        let id = id_of(&fact.document)?;
        let Assertion { subject, predicate, .. } = &self.command.fact;
        let key = key::join(&[&stream_id(self.project, subject, predicate), since.as_str()]);
        Some(RowOp { name: id_row(self.project, &id), expected: None, value: Some(key.into()) })
    }
}

impl Command<FactRoom> for OnFacts<'_, AssertFact> {
    const NAME: &'static str = "assert";
    type Reply = NewFact;
    type Rejection = Rejection;
    type Facts = FactContext;

    async fn facts(&self, _: &FactState, conditions: &mut Conditions) -> Result<FactContext, Fault> {
        let project = self.context.in_project(self.project, &self.command.authority, conditions).await?;
        // No condition necessary: a package is never deleted and keeps its author.
        let source = match &self.command.fact.source_package_id {
            None => Source::Unnamed,
            Some(id) => self.context.author(self.project, id).await?.map_or(Source::Absent, Source::By),
        };
        Ok(FactContext { project, source })
    }
    fn decide(&self, state: &FactState, around: &FactContext, at: &Point) -> Decided<FactRoom, Self> {
        decide::assert(state, around, self.command, &at.stamp)
    }
    fn side_events(&self, decided: &Decision<FactEvent, NewFact>, _: &Stamp) -> SideEvents {
        let mut beside = if decided.reply.makes_project {
            made_beside(self.project, &self.command.home, &self.command.authority.by)
        } else {
            SideEvents::default()
        };
        let asserted = decided.events.iter().filter_map(|event| match event {
            FactEvent::FactAsserted(event) => Some(event.valid_from),
            FactEvent::FactInvalidated(_) | FactEvent::FactMerged(_) | FactEvent::FactShortened(_) => None,
        });
        beside.rows.extend(asserted.filter_map(|since| self.claim(&decided.reply, since)));
        beside
    }
}

impl Command<FactRoom> for OnFacts<'_, InvalidateFact> {
    const NAME: &'static str = "invalidate";
    type Reply = u64;
    type Rejection = Rejection;
    type Facts = InProject;

    async fn facts(&self, _: &FactState, conditions: &mut Conditions) -> Result<InProject, Fault> {
        self.context.in_project(self.project, &self.command.authority, conditions).await
    }
    fn decide(&self, state: &FactState, project: &InProject, at: &Point) -> Decided<FactRoom, Self> {
        decide::invalidate(state, project, self.command, &at.stamp)
    }
}
