//! The predicted states of a dry run, so that the decision on a record takes earlier records into account.
//! Must not know: how a record is decided.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use plenary_engine::{Command, Point, Room, Streams};
use plenary_kernel::Version;

use super::{
    arrivals::{ArrivingPackage, ArrivingSession},
    decide::Outcome,
    fact::ArrivingFact,
    identity::LocalPackage,
    merge::{ExistingFact, Neighbours},
    placement::{NamedProject, Placement},
};
use crate::{
    Context, Failure,
    fact::{event::FactEnd, room::FactRoom, state::FactState},
    limits::PREDICTED_STREAMS_MAX,
    moment::Moment,
    package::{room::PackageRoom, state::PackageState},
    project::{decide::InProject, room::ProjectRoom, state::ProjectState},
    rejection::Rejection,
    session::{room::SessionRoom, state::SessionState},
};

/// Predicted states, by the ids of their streams.
#[derive(Default)]
pub(super) struct Prediction {
    projects: HashMap<String, ProjectState>,
    packages: HashMap<String, PackageState>,
    /// Packages that would be new or get further states.
    known_packages: HashMap<String, LocalPackage>,
    facts: HashMap<String, FactState>,
    sessions: HashMap<String, SessionState>,
    /// The fact with an id, by the project's key and that id: the id of its stream, and its `valid_from`.
    fact_ids: HashMap<(String, String), (String, Moment)>,
    /// The facts of a stream that would be new or get another end.
    timelines: HashMap<String, FactTimeline>,
}

/// The facts of one subject and predicate.
#[derive(Default)]
struct FactTimeline {
    /// By their beginning.
    holders: BTreeMap<Moment, ExistingFact>,
    /// Outranked facts, by their beginning and id.
    outranked: BTreeMap<(Moment, String), String>,
}

impl FactTimeline {
    /// Adds the predicted facts to the stored neighbours of a fact.
    fn add_to(&self, neighbours: &mut Neighbours, arrival: &ArrivingFact) {
        let since = arrival.valid_from;
        if let Some(holder) = self.holders.get(&since) {
            neighbours.same = Some(holder.clone());
        }
        let outranked = self.outranked.get(&(since, arrival.fact_id.clone()));
        neighbours.outranked = neighbours.outranked.take().or_else(|| outranked.cloned());
        let later_moments = (Bound::Excluded(since), Bound::Unbounded);
        let after =
            self.holders.range(later_moments).next().map(|(at, _)| FactEnd { at: *at, text: at.micros() });
        neighbours.after = neighbours.after.take().into_iter().chain(after).min_by_key(|after| after.at);
        if let (Some(same), Some(after)) = (&mut neighbours.same, &neighbours.after) {
            same.ended = Some(same.ended.map_or(after.at, |ended| ended.min(after.at)));
        }
    }

    /// Notes a fact that would be new, or end earlier.
    fn note(&mut self, holder: Option<ExistingFact>, arrival: &ArrivingFact, document: String) {
        let since = arrival.valid_from;
        let ended = arrival.ended.as_ref().map(|ended| ended.at);
        let fact = ExistingFact { fact_id: arrival.fact_id.clone(), document, ended };
        let outranked = match holder {
            Some(holder) if holder.fact_id > fact.fact_id => fact,
            Some(holder) if holder.fact_id < fact.fact_id => {
                self.holders.insert(since, fact);
                holder
            }
            Some(_) | None => {
                self.holders.insert(since, fact);
                return;
            }
        };
        self.outranked.insert((since, outranked.fact_id), outranked.document);
    }
}

fn id_of(stream: &str, fact_id: &str) -> (String, String) {
    (stream.split_once('/').map_or(stream, |(project, _)| project).to_owned(), fact_id.to_owned())
}

/// Decides a command on the predicted state, and applies its events to that state.
async fn predict<R: Room, C: Command<R, Reply = Outcome, Rejection = Rejection>>(
    context: &Context,
    streams: &Streams<R>,
    (id, states): (&str, &mut HashMap<String, R::State>),
    command: &C,
    adjust: impl FnOnce(&mut C::Facts),
) -> Result<Outcome, Failure> {
    if states.len() >= PREDICTED_STREAMS_MAX {
        states.clear();
    }
    let mut state = match states.get(id) {
        Some(state) => state.clone(),
        None => (*streams.fresh(id).await?.0).clone(),
    };
    let mut facts = command.facts(&state, &mut Vec::new()).await?;
    adjust(&mut facts);
    let stamp = context.clock().stamp();
    let decision = command.decide(&state, &facts, &Point { version: Version::ZERO, stamp })?;
    for event in &decision.events {
        R::evolve(&mut state, Version::ZERO, stamp.now, event);
    }
    states.insert(id.to_owned(), state);
    Ok(decision.reply)
}

impl Prediction {
    pub(super) fn has_project(&self, id: &str) -> bool {
        self.projects.contains_key(id)
    }

    /// Replaces the project by its predicted state, if there is one.
    fn use_predicted_project(&self, id: &str, project: &mut InProject) {
        let part = id.split_once('/').map_or(id, |(part, _)| part);
        if let Some(state) = self.projects.get(part) {
            project.project = Arc::new(state.clone());
        }
    }

    pub(super) async fn project(
        &mut self,
        placing: &Placement<'_, NamedProject<'_>>,
    ) -> Result<Outcome, Failure> {
        let Placement { context, id, .. } = *placing;
        predict::<ProjectRoom, _>(context, context.projects(), (id, &mut self.projects), placing, |_| {})
            .await
    }

    pub(super) async fn package(
        &mut self,
        placing: &Placement<'_, ArrivingPackage>,
    ) -> Result<Outcome, Failure> {
        let Placement { context, id, .. } = *placing;
        let mut states = std::mem::take(&mut self.packages);
        let adjust = |facts: &mut (InProject, Vec<_>)| {
            self.use_predicted_project(id, &mut facts.0);
            if let Some(known) = self.known_packages.get(id) {
                facts.1.clone_from(&known.hashes);
            }
        };
        let outcome =
            predict::<PackageRoom, _>(context, context.packages(), (id, &mut states), placing, adjust).await;
        self.packages = states;
        if let Ok(outcome) = &outcome {
            self.note_package(placing, *outcome).await?;
        }
        outcome
    }

    /// Notes a package that would be new or get further states.
    async fn note_package(
        &mut self,
        Placement { context, id, record, .. }: &Placement<'_, ArrivingPackage>,
        outcome: Outcome,
    ) -> Result<(), Failure> {
        let local = match outcome {
            Outcome::New => Some(LocalPackage::from_arrival(record)),
            Outcome::Continued => {
                let known = match self.known_packages.remove(*id) {
                    Some(local) => Some(local),
                    None => context.local_package(id).await?,
                };
                known.map(|mut local| {
                    local.hashes.extend(record.history.hashes());
                    local
                })
            }
            Outcome::Same | Outcome::Differs | Outcome::Renamed | Outcome::Ahead => None,
        };
        if let Some(local) = local
            && self.known_packages.len() < PREDICTED_STREAMS_MAX
        {
            self.known_packages.insert((*id).to_owned(), local);
        }
        Ok(())
    }

    /// A package that the import would write, in the state that it would have.
    pub(super) fn known_package(&self, stream: &str) -> Option<&LocalPackage> {
        self.known_packages.get(stream)
    }

    pub(super) async fn fact(&mut self, placing: &Placement<'_, ArrivingFact>) -> Result<Outcome, Failure> {
        let Placement { context, id, .. } = *placing;
        let mut states = std::mem::take(&mut self.facts);
        let holder = self.fact_ids.get(&id_of(id, &placing.record.fact_id)).cloned();
        let key = (id.to_owned(), placing.record.valid_from);
        let is_other = holder.as_ref().is_some_and(|holder| *holder != key);
        let (mut same, mut document) = (None, String::new());
        let adjust = |facts: &mut (InProject, Neighbours, String, Option<String>)| {
            self.use_predicted_project(id, &mut facts.0);
            if is_other {
                facts.3 = Some(id.to_owned());
            }
            if let Some(timeline) = self.timelines.get(id) {
                timeline.add_to(&mut facts.1, placing.record);
            }
            same = facts.1.same.clone();
            document = placing.record.document_by(&facts.2);
        };
        let outcome =
            predict::<FactRoom, _>(context, context.fact_states(), (id, &mut states), placing, adjust).await;
        self.facts = states;
        if matches!(outcome, Ok(Outcome::New | Outcome::Continued))
            && self.fact_ids.len() < PREDICTED_STREAMS_MAX
        {
            self.fact_ids.insert(id_of(id, &placing.record.fact_id), key);
            self.timelines.entry(id.to_owned()).or_default().note(same, placing.record, document);
        }
        outcome
    }

    pub(super) async fn session(
        &mut self,
        placing: &Placement<'_, ArrivingSession>,
    ) -> Result<Outcome, Failure> {
        let Placement { context, id, .. } = *placing;
        let mut states = std::mem::take(&mut self.sessions);
        let adjust = |project: &mut InProject| self.use_predicted_project(id, project);
        let outcome =
            predict::<SessionRoom, _>(context, context.session_states(), (id, &mut states), placing, adjust)
                .await;
        self.sessions = states;
        outcome
    }
}
