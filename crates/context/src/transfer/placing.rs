//! Records as commands of the engine: what each asks of other streams, and what is decided on it.
//! Must not know: HTTP, or how many records there are.

use plenary_engine::{Beside, Command, Decision, Facts};
use plenary_kernel::{Stamp, Version};
use plenary_log::{Batch, Condition, Fault, Order, RowOp};

use super::{
    arriving::{ArrivingPackage, ArrivingProject, ArrivingSession},
    decide::{FactAround, FoundFact, Import, Outcome},
    fact::ArrivingFact,
};
use crate::{
    Context,
    attribution::itself,
    fact::{
        event::FactEvent,
        room::{FactRoom, id_row},
        state::FactState,
    },
    hash::ContentHash,
    index::{FACTS, ended},
    key,
    moment::Moment,
    naming::Home,
    package::{event::PackageEvent, room::PackageRoom, state::PackageState},
    project::{decide::InProject, event::ProjectEvent, room::ProjectRoom, state::ProjectState},
    rejection::Rejection,
    session::{event::SessionEvent, room::SessionRoom, state::SessionState},
};

/// A record with what it asks. `id` is its stream's.
pub(crate) struct Placing<'a, T> {
    pub(crate) context: &'a Context,
    pub(crate) import: &'a Import<'a>,
    pub(crate) id: &'a str,
    pub(crate) record: &'a T,
}

impl<T> Placing<'_, T> {
    async fn project(&self, conditions: &mut Vec<Condition>) -> Result<InProject, Fault> {
        let project = self.id.split_once('/').map_or(self.id, |(project, _)| project);
        self.context.in_project(project, self.import.authority, conditions).await
    }
}

impl Placing<'_, ArrivingPackage> {
    /// The hashes that the package that is there has had.
    async fn earlier(&self, state: &PackageState) -> Result<Vec<ContentHash>, Fault> {
        let is_other = state.0.as_ref().is_some_and(|present| present.hash != self.record.package.hash);
        if !is_other {
            return Ok(Vec::new());
        }
        let mut hashes = Vec::new();
        for stored in self.context.history(self.id).await? {
            hashes.push(match PackageEvent::decode(&stored)? {
                PackageEvent::PackageDeposited(event) => event.hash,
                PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => event.hash,
            });
        }
        Ok(hashes)
    }
}

impl Command<PackageRoom> for Placing<'_, ArrivingPackage> {
    type Reply = Outcome;
    type Rejection = Rejection;
    type Facts = (InProject, Vec<ContentHash>);

    async fn facts(&self, state: &PackageState) -> Result<Facts<Self::Facts>, Fault> {
        let mut conditions = Vec::new();
        let project = self.project(&mut conditions).await?;
        Ok(Facts { value: (project, self.earlier(state).await?), conditions })
    }
    fn decide(
        &self,
        state: &PackageState,
        _: Version,
        (project, earlier): &Self::Facts,
        _: &Stamp,
    ) -> Result<Decision<PackageEvent, Outcome>, Rejection> {
        self.import.package(state, (project, earlier), self.record)
    }
}

impl Placing<'_, ArrivingFact> {
    /// The fact since the same moment, if there is one.
    async fn found(&self, state: &FactState) -> Result<Option<FoundFact>, Fault> {
        let key = self.key();
        let mut found = self.read(&key).await?;
        let is_awaited =
            state.current.as_ref().is_some_and(|current| current.valid_from == self.record.valid_from);
        let is_ended = state.ended.is_some_and(|ended| ended > self.record.valid_from);
        if found.is_none() && (is_awaited || is_ended) {
            // The state may be ahead of the disk: then what is queued is waited for.
            self.context.log().append(Batch::default()).await?;
            found = self.read(&key).await?;
        }
        Ok(found)
    }

    async fn read(&self, key: &str) -> Result<Option<FoundFact>, Fault> {
        let rows = self.context.log().read_index(FACTS, key, None, 2, Order::Ascending).await?;
        let corrupt = || Fault::Corrupt(format!("the fact {key} in an index is no text"));
        let text = |octets: &[u8]| std::str::from_utf8(octets).map(str::to_owned).map_err(|_| corrupt());
        let Some(row) = rows.iter().find(|row| row.key == key) else { return Ok(None) };
        let end = rows.iter().find(|row| row.key == ended(key)).map(|row| text(&row.value)).transpose()?;
        let ended = end.map(|end| Moment::parse(&end).ok_or_else(corrupt)).transpose()?;
        Ok(Some(FoundFact { document: text(&row.value)?, ended }))
    }

    /// The key under which it is kept.
    fn key(&self) -> String {
        key::join(&[self.id, self.record.valid_from.as_str()])
    }

    /// The row that says which fact of the project has its id.
    fn id_row(&self) -> String {
        let project = self.id.split_once('/').map_or(self.id, |(project, _)| project);
        id_row(project, &self.record.fact_id)
    }

    /// The key of another fact that has its id.
    async fn taken(&self) -> Result<Option<String>, Fault> {
        let row = self.context.log().read_row(&self.id_row()).await?;
        let holder = row.map(|row| String::from_utf8_lossy(&row.value).into_owned());
        Ok(holder.filter(|holder| *holder != self.key()))
    }

    /// Takes the id; of two records that take it at once one is decided again.
    fn claim(&self) -> RowOp {
        RowOp { name: self.id_row(), expected: Some(0), value: Some(self.key().into()) }
    }

    /// Who asserts it where it does not say (AP-45).
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

impl Command<FactRoom> for Placing<'_, ArrivingFact> {
    type Reply = Outcome;
    type Rejection = Rejection;
    type Facts = (InProject, Option<FoundFact>, String, Option<String>);

    async fn facts(&self, state: &FactState) -> Result<Facts<Self::Facts>, Fault> {
        let mut conditions = Vec::new();
        let project = self.project(&mut conditions).await?;
        let asserted_by = match &self.record.asserted_by {
            Some(_) => String::new(),
            None => self.asserted_by().await?,
        };
        let (found, taken) = (self.found(state).await?, self.taken().await?);
        Ok(Facts { value: (project, found, asserted_by, taken), conditions })
    }
    fn decide(
        &self,
        state: &FactState,
        _: Version,
        (project, found, asserted_by, taken): &Self::Facts,
        stamp: &Stamp,
    ) -> Result<Decision<FactEvent, Outcome>, Rejection> {
        let (found, taken) = (found.as_ref(), taken.as_deref());
        let around = FactAround { project, found, asserted_by, taken };
        self.import.fact(state, around, self.record, stamp.now)
    }
    fn beside(&self, decided: &Decision<FactEvent, Outcome>, _: &Stamp) -> Beside {
        let rows = match decided.reply {
            Outcome::New => vec![self.claim()],
            Outcome::Same | Outcome::Continued | Outcome::Differs | Outcome::Renamed => Vec::new(),
        };
        Beside { rows, ..Beside::default() }
    }
}

impl Command<SessionRoom> for Placing<'_, ArrivingSession> {
    type Reply = Outcome;
    type Rejection = Rejection;
    type Facts = InProject;

    async fn facts(&self, _: &SessionState) -> Result<Facts<InProject>, Fault> {
        let mut conditions = Vec::new();
        let value = self.project(&mut conditions).await?;
        Ok(Facts { value, conditions })
    }
    fn decide(
        &self,
        state: &SessionState,
        _: Version,
        project: &InProject,
        _: &Stamp,
    ) -> Result<Decision<SessionEvent, Outcome>, Rejection> {
        self.import.session(state, project, self.record)
    }
}

/// A project by where it belongs, and its record where there is one.
pub(crate) struct Named<'a> {
    pub(crate) home: &'a Home,
    pub(crate) record: Option<&'a ArrivingProject>,
}

impl Command<ProjectRoom> for Placing<'_, Named<'_>> {
    type Reply = Outcome;
    type Rejection = Rejection;
    /// Whether the bearer's token is still valid.
    type Facts = bool;

    async fn facts(&self, _: &ProjectState) -> Result<Facts<bool>, Fault> {
        let mut conditions = Vec::new();
        let value = self.context.accounts().holds(self.import.authority, &mut conditions).await?;
        Ok(Facts { value, conditions })
    }
    fn decide(
        &self,
        state: &ProjectState,
        _: Version,
        holds: &bool,
        _: &Stamp,
    ) -> Result<Decision<ProjectEvent, Outcome>, Rejection> {
        self.import.project(state, *holds, self.record.home, self.record.record)
    }
}
