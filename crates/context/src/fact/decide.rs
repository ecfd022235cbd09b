//! The decisions on facts: intervals of one subject and predicate never overlap (AP-47, AP-75). Pure.
//! Must not know: how facts are stored.

use plenary_engine::Decision;
use plenary_kernel::Stamp;
use serde::{Deserialize, Serialize};

use super::{
    command::{AssertFact, InvalidateFact, Source, now},
    document::ServerMembers,
    event::{FactAsserted, FactEvent, FactInvalidated},
    state::{FactState, value_digest},
};
use crate::{
    attribution::{itself, speaks_as},
    moment::Moment,
    package::decide::enter,
    project::decide::InProject,
    rejection::Rejection,
};

/// The result of an assertion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFact {
    /// Whether the project is created too.
    pub makes_project: bool,
    /// The document of the fact, without its end.
    pub document: String,
}

/// The facts from other streams for a decision on facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactContext {
    /// The project.
    pub project: InProject,
    /// The source package of the fact.
    pub source: Source,
}

/// Decides `AssertFact`.
pub fn assert(
    state: &FactState,
    around: &FactContext,
    command: &AssertFact,
    stamp: &Stamp,
) -> Result<Decision<FactEvent, NewFact>, Rejection> {
    let by = &command.authority.by;
    let makes_project = enter(&around.project, by, command.makes_projects, |access| access.write)?;
    let fact = &command.fact;
    if let Some(actor) = &fact.asserted_by
        && !speaks_as(by, &actor.id, command.attribution)
    {
        return Err(Rejection::NotThatActor("asserted_by.id"));
    }
    if around.project.project.archived_at.is_some() {
        return Err(Rejection::ProjectArchived);
    }
    // AP-45: without an explicit `asserted_by`, the author of the source package counts.
    let asserted_by = match (&fact.asserted_by, &around.source) {
        (_, Source::Absent) => return Err(Rejection::unknown_source()),
        (_, Source::By(actor)) => actor.clone(),
        (_, Source::Unnamed) => serde_json::to_string(&itself(by)).expect("an actor can be written"),
    };
    let valid_from = valid_from(state, fact.valid_from, now(stamp))?;
    let fact_id = format!("fact_{:032x}", u128::from(stamp.ulid(0)));
    let server_members = ServerMembers {
        fact_id: &fact_id,
        project_id: &command.home.project_id,
        valid_from,
        created_at: now(stamp),
        asserted_by: &asserted_by,
    };
    let document = fact.document(&server_members);
    let event = FactAsserted {
        by: by.clone(),
        valid_from,
        text: fact.valid_from_text.clone(),
        supersedes: state.current.as_ref().map(|current| current.valid_from),
        trace: command.trace.clone(),
        document: document.clone().into(),
    };
    Ok(Decision::new(vec![FactEvent::FactAsserted(event)], NewFact { makes_project, document }))
}

/// The beginning of a new fact: after that of the current fact, not before the end of the last one, and not in the
/// future (wire.md D.7). A time that the server chooses is moved forward if its clock is too coarse or behind.
fn valid_from(state: &FactState, requested: Option<Moment>, now: Moment) -> Result<Moment, Rejection> {
    let earlier = state.current.as_ref().map(|current| current.valid_from);
    let Some(requested) = requested else {
        let earliest = earlier.map(Moment::plus_micro).max(state.ended);
        return Ok(earliest.map_or(now, |earliest| earliest.max(now)));
    };
    if earlier.is_some_and(|earlier| requested <= earlier) {
        return Err(Rejection::InvalidValidFrom("later than that of the current fact"));
    }
    if state.ended.is_some_and(|ended| requested < ended) {
        return Err(Rejection::InvalidValidFrom("not before the end of the last fact"));
    }
    // The clock counts milliseconds, so any time within the current one is not in the future.
    if requested.in_ms() > now.in_ms() {
        return Err(Rejection::InvalidValidFrom("not in the future"));
    }
    Ok(requested)
}

/// Decides `InvalidateFact`; the reply is the number of ended facts, one or none.
pub fn invalidate(
    state: &FactState,
    project: &InProject,
    command: &InvalidateFact,
    stamp: &Stamp,
) -> Result<Decision<FactEvent, u64>, Rejection> {
    let by = &command.authority.by;
    enter(project, by, false, |access| access.write)?;
    if project.project.archived_at.is_some() {
        return Err(Rejection::ProjectArchived);
    }
    let matches_object =
        |value: &String| command.object.as_ref().is_none_or(|object| value_digest(object) == *value);
    let Some(current) = state.current.as_ref().filter(|current| matches_object(&current.value)) else {
        return Ok(Decision::unchanged(0));
    };
    let event = FactInvalidated {
        by: by.clone(),
        valid_from: current.valid_from,
        // The interval is never empty, even if the clock is behind.
        valid_to: now(stamp).max(current.valid_from.plus_micro()),
        text: None,
    };
    Ok(Decision::new(vec![FactEvent::FactInvalidated(event)], 1))
}
