//! Records as commands of the engine: their facts from other streams, and their decision.
//! Must not know: HTTP, or the number of records.

use plenary_engine::{Command, Conditions, Decided, Decision, Point, SideEvents};
use plenary_kernel::Stamp;
use plenary_log::{Batch, Condition, Fault, IndexRow, Order, RowOp};

use super::{
    arrivals::{ArrivingPackage, ArrivingProject, ArrivingSession},
    decide::{FactSurroundings, Import, Outcome},
    fact::ArrivingFact,
    merge::{ExistingFact, Neighbours},
};
use crate::{
    Context,
    attribution::itself,
    fact::{
        document::id_of,
        event::{FactEnd, FactEvent},
        room::{FactRoom, id_row},
        state::FactState,
    },
    hash::ContentHash,
    history::valid_from,
    index::{BESIDE, FACTS, beside, ended},
    key,
    moment::Moment,
    package::{room::PackageRoom, state::PackageState},
    project::{decide::InProject, room::ProjectRoom, state::ProjectState},
    project_names::Home,
    rejection::Rejection,
    session::{room::SessionRoom, state::SessionState},
};

/// A record with its context. `id` is the id of its stream.
pub(crate) struct Placement<'a, T> {
    pub(crate) context: &'a Context,
    pub(crate) import: &'a Import<'a>,
    pub(crate) id: &'a str,
    pub(crate) record: &'a T,
}

impl<T> Placement<'_, T> {
    async fn project(&self, conditions: &mut Vec<Condition>) -> Result<InProject, Fault> {
        let project = self.id.split_once('/').map_or(self.id, |(project, _)| project);
        self.context.in_project(project, self.import.authority, conditions).await
    }
}

impl Placement<'_, ArrivingPackage> {
    /// The past hashes of the existing package.
    async fn earlier(&self, state: &PackageState) -> Result<Vec<ContentHash>, Fault> {
        let is_other = state.0.as_ref().is_some_and(|present| present.hash != self.record.package.hash);
        if !is_other {
            return Ok(Vec::new());
        }
        self.context.hashes(self.id).await
    }
}

/// Whether the neighbours on disk are sufficient: no event that the state already has could change the
/// decision.
fn is_settled(neighbours: &Neighbours, state: &FactState, record: &ArrivingFact) -> bool {
    if neighbours.outranked.is_some() {
        return true;
    }
    match &neighbours.same {
        Some(same) if same.fact_id == record.fact_id => match (&record.ended, same.ended) {
            (None, _) => true,
            (Some(end), existing_end) => existing_end.is_some_and(|existing_end| existing_end <= end.at),
        },
        same => {
            let last =
                same.as_ref().map_or(neighbours.before.and_then(|(_, ended)| ended), |same| same.ended);
            state.current.is_none() && neighbours.after.is_none() && last == state.ended
        }
    }
}

fn corrupt(key: &str) -> Fault {
    Fault::Corrupt(format!("the fact {key} in an index is not whole"))
}

fn text(row: &IndexRow) -> Result<String, Fault> {
    std::str::from_utf8(&row.value).map(str::to_owned).map_err(|_| corrupt(&row.key))
}

/// The moment in the key of a fact, or of its end.
fn moment(prefix: &str, row: &IndexRow) -> Result<Moment, Fault> {
    let at = row.key.strip_prefix(prefix).and_then(|rest| rest.split(['/', BESIDE]).next());
    at.and_then(|at| Moment::parse(&format!("{at}Z"))).ok_or_else(|| corrupt(&row.key))
}

fn beginning(prefix: &str, row: &IndexRow) -> Result<FactEnd, Fault> {
    let at = moment(prefix, row)?;
    Ok(FactEnd { at, text: valid_from(&text(row)?).unwrap_or_else(|| at.micros()) })
}

impl Command<PackageRoom> for Placement<'_, ArrivingPackage> {
    const NAME: &'static str = "place";
    type Reply = Outcome;
    type Rejection = Rejection;
    type Facts = (InProject, Vec<ContentHash>);

    async fn facts(&self, state: &PackageState, conditions: &mut Conditions) -> Result<Self::Facts, Fault> {
        let project = self.project(conditions).await?;
        Ok((project, self.earlier(state).await?))
    }
    fn decide(
        &self,
        state: &PackageState,
        (project, earlier): &Self::Facts,
        _: &Point,
    ) -> Decided<PackageRoom, Self> {
        self.import.package(state, (project, earlier), self.record)
    }
}

impl Placement<'_, ArrivingFact> {
    /// The existing facts around the imported one.
    async fn neighbours(&self, state: &FactState) -> Result<Neighbours, Fault> {
        let (since, current) = (self.record.valid_from, state.current.as_ref().map(|fact| fact.valid_from));
        if current.map_or(state.ended.is_none_or(|ended| ended < since), |current| current < since) {
            // All existing facts begin earlier, and at most the current one has no end.
            return Ok(Neighbours {
                before: current.map(|current| (current, None)),
                ..Neighbours::default()
            });
        }
        let neighbours = self.read_neighbours().await?;
        if is_settled(&neighbours, state, self.record) {
            return Ok(neighbours);
        }
        // The state may be ahead of the disk: wait until the queued batches are written.
        self.context.log().append(Batch::default()).await?;
        self.read_neighbours().await
    }

    async fn read_neighbours(&self) -> Result<Neighbours, Fault> {
        let (key, prefix) = (self.key(), format!("{}/", self.id));
        let outranked_key = key::join(&[self.id, &beside(self.record.valid_from, &self.record.fact_id)]);
        let outranked = self.rows(&outranked_key, None, 1, Order::Ascending).await?;
        let outranked = outranked.first().filter(|row| row.key == outranked_key).map(text).transpose()?;
        // After all rows with the same beginning.
        let after_same = format!("{key}\u{7f}");
        let after = self.rows(&prefix, Some(&after_same), 1, Order::Ascending).await?;
        let after = after.first().map(|row| beginning(&prefix, row)).transpose()?;
        let earlier = self.rows(&prefix, Some(&key), 1, Order::Descending).await?;
        let before = match earlier.first() {
            None => None,
            Some(row) => {
                let since = moment(&prefix, row)?;
                let key = key::join(&[self.id, since.as_str()]);
                let fact = self.read(&key).await?.ok_or_else(|| corrupt(&key))?;
                Some((since, fact.ended))
            }
        };
        Ok(Neighbours { same: self.read(&key).await?, outranked, before, after })
    }

    async fn rows(
        &self,
        prefix: &str,
        after: Option<&str>,
        max: usize,
        order: Order,
    ) -> Result<Vec<IndexRow>, Fault> {
        self.context.log().read_index(FACTS, prefix, after, max, order).await
    }

    async fn read(&self, key: &str) -> Result<Option<ExistingFact>, Fault> {
        let rows = self.rows(key, None, 2, Order::Ascending).await?;
        let Some(row) = rows.iter().find(|row| row.key == key) else { return Ok(None) };
        let end = rows.iter().find(|row| row.key == ended(key)).map(text).transpose()?;
        let ended = end.map(|end| Moment::parse(&end).ok_or_else(|| corrupt(key))).transpose()?;
        let document = text(row)?;
        let fact_id = id_of(&document).ok_or_else(|| corrupt(key))?;
        Ok(Some(ExistingFact { fact_id, document, ended }))
    }

    /// The key of the fact.
    fn key(&self) -> String {
        key::join(&[self.id, self.record.valid_from.as_str()])
    }

    /// The row that holds which fact of the project has the id.
    fn id_row(&self) -> String {
        let project = self.id.split_once('/').map_or(self.id, |(project, _)| project);
        id_row(project, &self.record.fact_id)
    }

    /// The key of another fact with the id.
    async fn key_of_other(&self) -> Result<Option<String>, Fault> {
        let row = self.context.log().read_row(&self.id_row()).await?;
        let holder = row.map(|row| String::from_utf8_lossy(&row.value).into_owned());
        Ok(holder.filter(|holder| *holder != self.key()))
    }

    /// Claims the id; of two concurrent records one gets a conflict and is decided again.
    fn claim(&self) -> RowOp {
        RowOp { name: self.id_row(), expected: Some(0), value: Some(self.key().into()) }
    }

    /// The asserting actor, if the fact names none (AP-45).
    async fn asserted_by(&self) -> Result<String, Fault> {
        let project = self.id.split_once('/').map_or(self.id, |(project, _)| project);
        let by = match &self.record.source_package_id {
            Some(source) => self.context.author(project, source).await?,
            None => None,
        };
        let itself =
            || serde_json::to_string(&itself(&self.import.authority.by)).expect("an actor can be written");
        Ok(by.unwrap_or_else(itself))
    }
}

impl Command<FactRoom> for Placement<'_, ArrivingFact> {
    const NAME: &'static str = "place";
    type Reply = Outcome;
    type Rejection = Rejection;
    type Facts = (InProject, Neighbours, String, Option<String>);

    async fn facts(&self, state: &FactState, conditions: &mut Conditions) -> Result<Self::Facts, Fault> {
        let project = self.project(conditions).await?;
        let asserted_by = match &self.record.asserted_by {
            Some(_) => String::new(),
            None => self.asserted_by().await?,
        };
        let (neighbours, key_of_other) = (self.neighbours(state).await?, self.key_of_other().await?);
        Ok((project, neighbours, asserted_by, key_of_other))
    }
    fn decide(
        &self,
        _: &FactState,
        (project, neighbours, asserted_by, key_of_other): &Self::Facts,
        at: &Point,
    ) -> Decided<FactRoom, Self> {
        let surroundings =
            FactSurroundings { project, neighbours, asserted_by, key_of_other: key_of_other.as_deref() };
        self.import.fact(surroundings, self.record, at.stamp.now)
    }
    fn side_events(&self, decided: &Decision<FactEvent, Outcome>, _: &Stamp) -> SideEvents {
        let rows = match decided.reply {
            Outcome::New => vec![self.claim()],
            Outcome::Same | Outcome::Continued | Outcome::Differs | Outcome::Renamed | Outcome::Ahead => {
                Vec::new()
            }
        };
        SideEvents { rows, ..SideEvents::default() }
    }
}

impl Command<SessionRoom> for Placement<'_, ArrivingSession> {
    const NAME: &'static str = "place";
    type Reply = Outcome;
    type Rejection = Rejection;
    type Facts = InProject;

    async fn facts(&self, _: &SessionState, conditions: &mut Conditions) -> Result<InProject, Fault> {
        self.project(conditions).await
    }
    fn decide(&self, state: &SessionState, project: &InProject, _: &Point) -> Decided<SessionRoom, Self> {
        self.import.session(state, project, self.record)
    }
}

/// A project by its place, with its record if there is one.
pub(crate) struct NamedProject<'a> {
    pub(crate) home: &'a Home,
    pub(crate) record: Option<&'a ArrivingProject>,
}

impl Command<ProjectRoom> for Placement<'_, NamedProject<'_>> {
    const NAME: &'static str = "place";
    type Reply = Outcome;
    type Rejection = Rejection;
    /// Whether the bearer's token is still valid.
    type Facts = bool;

    async fn facts(&self, _: &ProjectState, conditions: &mut Conditions) -> Result<bool, Fault> {
        self.context.accounts().holds(self.import.authority, conditions).await
    }
    fn decide(&self, state: &ProjectState, is_token_valid: &bool, _: &Point) -> Decided<ProjectRoom, Self> {
        self.import.project(state, *is_token_valid, self.record.home, self.record.record)
    }
}
