//! What a dry run has foretold: states as they would be, so that a record meets those before it.
//! Must not know: how a record is decided.

use std::{collections::HashMap, sync::Arc};

use plenary_engine::{Command, Room, Streams};
use plenary_kernel::Version;

use super::{
    arriving::{ArrivingPackage, ArrivingSession},
    decide::Outcome,
    fact::ArrivingFact,
    merge::Neighbours,
    placing::{Named, Placing},
};
use crate::{
    Context, Failure,
    fact::{room::FactRoom, state::FactState},
    limits::FORETOLD_MAX,
    moment::Moment,
    package::{room::PackageRoom, state::PackageState},
    project::{decide::InProject, room::ProjectRoom, state::ProjectState},
    rejection::Rejection,
    session::{room::SessionRoom, state::SessionState},
};

/// States that are only foretold, by the ids of their streams.
#[derive(Default)]
pub(super) struct Foretold {
    projects: HashMap<String, ProjectState>,
    packages: HashMap<String, PackageState>,
    facts: HashMap<String, FactState>,
    sessions: HashMap<String, SessionState>,
    /// Which fact has an id, by the project's key and that id: the id of its stream, and since when it holds.
    fact_ids: HashMap<(String, String), (String, Moment)>,
}

fn id_of(stream: &str, fact_id: &str) -> (String, String) {
    (stream.split_once('/').map_or(stream, |(project, _)| project).to_owned(), fact_id.to_owned())
}

/// Decides a command on a state that it would meet, and folds what it would write.
async fn meet<R: Room, C: Command<R, Reply = Outcome, Rejection = Rejection>>(
    context: &Context,
    streams: &Streams<R>,
    (id, states): (&str, &mut HashMap<String, R::State>),
    command: &C,
    within: impl FnOnce(&mut C::Facts),
) -> Result<Outcome, Failure> {
    if states.len() >= FORETOLD_MAX {
        states.clear();
    }
    let mut state = match states.remove(id) {
        Some(state) => state,
        None => (*streams.fresh(id).await?.0).clone(),
    };
    let mut facts = command.facts(&state).await?.value;
    within(&mut facts);
    let stamp = context.clock().stamp();
    let decision = command.decide(&state, Version::ZERO, &facts, &stamp)?;
    for event in &decision.events {
        R::evolve(&mut state, Version::ZERO, stamp.now, event);
    }
    states.insert(id.to_owned(), state);
    Ok(decision.reply)
}

impl Foretold {
    pub(super) fn has_project(&self, id: &str) -> bool {
        self.projects.contains_key(id)
    }

    /// The project as it would be.
    fn within(&self, id: &str, project: &mut InProject) {
        let part = id.split_once('/').map_or(id, |(part, _)| part);
        if let Some(state) = self.projects.get(part) {
            project.project = Arc::new(state.clone());
        }
    }

    pub(super) async fn project(&mut self, placing: &Placing<'_, Named<'_>>) -> Result<Outcome, Failure> {
        let Placing { context, id, .. } = *placing;
        meet::<ProjectRoom, _>(context, context.projects(), (id, &mut self.projects), placing, |_| {}).await
    }

    pub(super) async fn package(
        &mut self,
        placing: &Placing<'_, ArrivingPackage>,
    ) -> Result<Outcome, Failure> {
        let Placing { context, id, .. } = *placing;
        let mut states = std::mem::take(&mut self.packages);
        let within = |facts: &mut (InProject, Vec<_>)| self.within(id, &mut facts.0);
        let met =
            meet::<PackageRoom, _>(context, context.packages(), (id, &mut states), placing, within).await;
        self.packages = states;
        met
    }

    pub(super) async fn fact(&mut self, placing: &Placing<'_, ArrivingFact>) -> Result<Outcome, Failure> {
        let Placing { context, id, .. } = *placing;
        let mut states = std::mem::take(&mut self.facts);
        let holder = self.fact_ids.get(&id_of(id, &placing.record.fact_id)).cloned();
        let key = (id.to_owned(), placing.record.valid_from);
        let is_other = holder.as_ref().is_some_and(|holder| *holder != key);
        if holder.is_some() && !is_other {
            self.facts = states;
            return Ok(Outcome::Same);
        }
        let within = |facts: &mut (InProject, Neighbours, String, Option<String>)| {
            self.within(id, &mut facts.0);
            if is_other {
                facts.3 = Some(id.to_owned());
            }
        };
        let met =
            meet::<FactRoom, _>(context, context.fact_states(), (id, &mut states), placing, within).await;
        self.facts = states;
        if matches!(met, Ok(Outcome::New)) && self.fact_ids.len() < FORETOLD_MAX {
            self.fact_ids.insert(id_of(id, &placing.record.fact_id), key);
        }
        met
    }

    pub(super) async fn session(
        &mut self,
        placing: &Placing<'_, ArrivingSession>,
    ) -> Result<Outcome, Failure> {
        let Placing { context, id, .. } = *placing;
        let mut states = std::mem::take(&mut self.sessions);
        let within = |project: &mut InProject| self.within(id, project);
        let met =
            meet::<SessionRoom, _>(context, context.session_states(), (id, &mut states), placing, within)
                .await;
        self.sessions = states;
        met
    }
}
