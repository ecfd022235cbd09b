//! The decision on an imported record, given the existing one. An existing record changes only by its continuation:
//! further steps of a review, the end of a fact or of a session (sections 5.3, 7.3, 10.1). Pure.
//! Must not know: how records are stored.

use std::collections::HashSet;

use plenary_accounts::Authority;
use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, TimestampMs};
use serde::{Deserialize, Serialize};

use super::{
    arrivals::{ArrivingPackage, ArrivingProject, ArrivingSession},
    fact::ArrivingFact,
    merge::{Merge, Neighbours, merge},
    report::Mode,
};
use crate::{
    attribution::{Attribution, speaks_as},
    extensions::Extensions,
    fact::event::FactEvent,
    hash::ContentHash,
    malformed::ContextFault,
    moment::Moment,
    package::{decide::enter, event::PackageEvent, state::PackageState},
    project::{
        decide::{InProject, too_many_extensions},
        event::{ProjectCreated, ProjectDescribed, ProjectEvent},
        state::ProjectState,
    },
    project_names::Home,
    rejection::Rejection,
    session::{
        event::{SessionEnded, SessionEvent},
        state::SessionState,
    },
};

/// The outcome for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// It did not exist.
    New,
    /// It exists, in the same or a later state.
    Same,
    /// The existing record was continued.
    Continued,
    /// A record with other content exists, and stays.
    Differs,
    /// A record with other content exists; this one got a new id.
    Renamed,
    /// It continues the existing record, which stays unchanged.
    Ahead,
}

/// The settings of an import: the caller, the mode, and the allowed authors.
#[derive(Debug)]
pub(crate) struct Import<'a> {
    pub(crate) authority: &'a Authority,
    pub(crate) mode: Mode,
    pub(crate) attribution: Attribution,
    /// The live agents of an importing owner, whose records it may restore.
    pub(crate) own_agents: HashSet<AgentHandle>,
}

type TransferDecision<E> = Result<Decision<E, Outcome>, Rejection>;

fn unchanged<E>(outcome: Outcome) -> TransferDecision<E> {
    Ok(Decision::unchanged(outcome))
}

impl Import<'_> {
    /// Only the owner of a project and the operator may import into it (wire.md D.4, D.7).
    fn enter(&self, project: &InProject) -> Result<(), Rejection> {
        enter(project, &self.authority.by, false, |access| access.govern)?;
        Ok(())
    }

    /// Whether the importer may name this author: itself, or one of its agents by the full handle. An agent's bare name may
    /// also be that of another owner.
    fn may_name(&self, id: &str) -> bool {
        let is_own_agent = || {
            let handle = format!("@{}", id.strip_prefix('@').unwrap_or(id)).parse::<AgentHandle>();
            handle.is_ok_and(|handle| self.own_agents.contains(&handle))
        };
        speaks_as(&self.authority.by, id, self.attribution) || is_own_agent()
    }

    /// Writes a record, if the importer may name its author. A record that is already there needs no author, so that an
    /// owner can repeat an import. An archived project takes records too: an earlier import of the same records may have
    /// archived it before all were there.
    fn writes<E>(
        &self,
        author: Option<(&str, &'static str)>,
        events: Vec<E>,
        outcome: Outcome,
    ) -> TransferDecision<E> {
        match author {
            Some((id, field)) if !self.may_name(id) => Err(Rejection::NotThatActor(field)),
            Some(_) | None => Ok(Decision::new(events, outcome)),
        }
    }

    /// Decides on a package. `earlier` has the past hashes of the existing package.
    pub(crate) fn package(
        &self,
        state: &PackageState,
        (project, earlier): (&InProject, &[ContentHash]),
        arrival: &ArrivingPackage,
    ) -> TransferDecision<PackageEvent> {
        let ArrivingPackage { package, history, renamed_from, origin_hash } = arrival;
        self.enter(project)?;
        let author = Some((package.head.created_by.id.as_str(), "created_by.id"));
        let by = &self.authority.by;
        let Some(present) = &state.0 else {
            let events = history.events(package, (renamed_from.as_deref(), *origin_hash), by)?;
            return self.writes(author, events, Outcome::New);
        };
        if present.hash == package.hash || earlier.contains(&package.hash) {
            return unchanged(Outcome::Same);
        }
        if self.mode != Mode::Overwrite {
            let is_ahead = history.contains(present.hash);
            return unchanged(if is_ahead { Outcome::Ahead } else { Outcome::Differs });
        }
        let current_state = (present.status, present.review_type);
        match history.continuation(package, current_state, present.hash, by) {
            Some(events) if !events.is_empty() => self.writes(author, events, Outcome::Continued),
            Some(_) | None => Err(Rejection::DuplicatePackageId),
        }
    }

    /// Decides on a fact.
    pub(crate) fn fact(
        &self,
        FactSurroundings { project, neighbours, asserted_by, key_of_other }: FactSurroundings<'_>,
        arrival: &ArrivingFact,
        now: TimestampMs,
    ) -> TransferDecision<FactEvent> {
        // A later beginning or end would block new assertions here until that time (wire.md D.7).
        let latest = Moment::latest(now);
        if arrival.valid_from > latest {
            return Err(Rejection::InvalidValidFrom("not in the future"));
        }
        if arrival.ended.as_ref().is_some_and(|ended| ended.at > latest) {
            return Err(ContextFault::field("valid_to", "not in the future").into());
        }
        self.enter(project)?;
        let author = arrival.asserted_by.as_ref().map(|actor| (actor.id.as_str(), "asserted_by.id"));
        let document = arrival.document_by(asserted_by);
        match merge(&self.authority.by, arrival, document, neighbours) {
            Merge::Known => unchanged(Outcome::Same),
            Merge::Differs if self.mode == Mode::Overwrite => Err(Rejection::DuplicateFactId),
            Merge::Differs => unchanged(Outcome::Differs),
            Merge::Ends(event) => self.writes(author, vec![*event], Outcome::Continued),
            Merge::New(_) if key_of_other.is_some() => Err(Rejection::DuplicateFactId),
            Merge::New(events) => self.writes(author, events, Outcome::New),
        }
    }

    /// Decides on a session.
    pub(crate) fn session(
        &self,
        state: &SessionState,
        project: &InProject,
        arrival: &ArrivingSession,
    ) -> TransferDecision<SessionEvent> {
        let ArrivingSession { started, ended_at, .. } = arrival;
        self.enter(project)?;
        let author = Some((started.actor_id.as_str(), "actor_id"));
        let end_event = |ended_at: Moment, extensions| {
            SessionEvent::SessionEnded(SessionEnded { by: self.authority.by.clone(), ended_at, extensions })
        };
        let Some(existing) = &state.started else {
            let start = SessionEvent::SessionStarted(started.clone());
            let end = ended_at.map(|ended_at| end_event(ended_at, Extensions::default()));
            let events = [start].into_iter().chain(end).collect();
            return self.writes(author, events, Outcome::New);
        };
        let identity = |session: &crate::session::event::SessionStarted| {
            (session.actor_id.clone(), session.actor_type, session.callsign.clone(), session.started_at)
        };
        if identity(existing) != identity(started) {
            return match self.mode {
                Mode::Overwrite => Err(Rejection::SessionExists),
                Mode::Skip | Mode::Rename => unchanged(Outcome::Differs),
            };
        }
        match (state.ended_at, *ended_at) {
            (None, Some(ended_at)) if self.mode == Mode::Overwrite => {
                self.writes(author, vec![end_event(ended_at, started.extensions.clone())], Outcome::Continued)
            }
            (None, Some(_)) => unchanged(Outcome::Differs),
            (Some(existing_end), Some(ended_at)) if existing_end != ended_at => match self.mode {
                Mode::Overwrite => Err(Rejection::SessionEnded),
                Mode::Skip | Mode::Rename => unchanged(Outcome::Differs),
            },
            (Some(_) | None, _) if existing.extensions != started.extensions => unchanged(Outcome::Differs),
            (Some(_) | None, _) => unchanged(Outcome::Same),
        }
    }

    /// Decides on a project; `None` for a project without its own record, created for another record.
    pub(crate) fn project(
        &self,
        state: &ProjectState,
        is_token_valid: bool,
        home: &Home,
        arrival: Option<&ArrivingProject>,
    ) -> TransferDecision<ProjectEvent> {
        if !is_token_valid {
            return Err(Rejection::Revoked);
        }
        let by = &self.authority.by;
        if !state.exists() {
            let event = ProjectCreated {
                project_id: home.project_id.clone(),
                by: by.clone(),
                owner: Some(home.owner.clone()),
                made_at: arrival.and_then(|arrival| arrival.created_at),
                about: arrival.map(|arrival| arrival.about.clone()).unwrap_or_default(),
            };
            return Ok(Decision::new(vec![ProjectEvent::ProjectCreated(event)], Outcome::New));
        }
        let access = state.access(by);
        if !access.read {
            return Err(Rejection::ProjectExists);
        }
        if !access.govern {
            return Err(Rejection::NotPermitted);
        }
        let Some(arrival) = arrival else { return unchanged(Outcome::Same) };
        let about = &arrival.about;
        let name = state.name.as_ref().filter(|name| **name != home.project_id);
        let is_same = name == about.name.as_ref()
            && Some(&state.description) == about.description.as_ref()
            && Some(&state.settings) == about.settings.as_ref()
            && state.extensions.has_all(&about.extensions);
        if is_same && state.archived_at == arrival.archived_at {
            return unchanged(Outcome::Same);
        }
        if self.mode != Mode::Overwrite || state.archived_at.is_some() {
            return unchanged(Outcome::Differs);
        }
        if is_same {
            return unchanged(Outcome::Continued);
        }
        if state.overflows_with(about) {
            return Err(too_many_extensions());
        }
        let event = ProjectDescribed { by: by.clone(), about: about.clone() };
        Ok(Decision::new(vec![ProjectEvent::ProjectDescribed(event)], Outcome::Continued))
    }
}

/// The facts for the decision on an imported fact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactSurroundings<'a> {
    pub(crate) project: &'a InProject,
    /// The existing facts of the same subject and predicate.
    pub(crate) neighbours: &'a Neighbours,
    /// The asserting actor, if the fact names none.
    pub(crate) asserted_by: &'a str,
    /// The key of another fact of the project with the same id (AP-41).
    pub(crate) key_of_other: Option<&'a str>,
}
