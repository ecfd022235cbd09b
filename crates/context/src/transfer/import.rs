//! An import: records as they arrive, several at a time, each written completely or not at all. Written records stay,
//! so that an interrupted import can be repeated.
//! Must not know: HTTP, or the source of the lines.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::future::join_all;
use plenary_kernel::TimestampMs;

use super::{
    arrivals::{ArrivingProject, ArrivingRecord},
    decide::{Import, Outcome},
    placement::{NamedProject, Placement},
    prediction::Prediction,
    record::{Counts, ImportLine, IncomingRecord, Kind, read},
    report::{Mode, Report},
};
use crate::{
    Context, Failure,
    fact::room::stream_id,
    key,
    limits::{EXPORT_PROJECTS_MAX, IMPORT_BYTES_WAITING_MAX, IMPORTS_AT_ONCE},
    malformed::{Code, ContextFault},
    project::command::{Edit, EditProject},
    project_names::{Home, ResolvedProject, split},
    refusals::ContextRefusal,
    rejection::Rejection,
};

/// A record that waits to be written.
pub(super) struct PendingRecord {
    line: u64,
    kind: Kind,
    /// The record's own id.
    pub(super) name: String,
    /// The project's key; `stream` is the id of the stream.
    pub(super) project: String,
    pub(super) stream: String,
    arrival: ArrivingRecord,
    /// Whether it is of a package that exists here, so that it gets no other id.
    exists: bool,
}

/// A running import.
pub(crate) struct Importer<'a> {
    pub(super) context: &'a Context,
    pub(super) import: Import<'a>,
    pub(super) dry_run: Option<Prediction>,
    pub(super) report: Report,
    pending: Vec<PendingRecord>,
    bytes_waiting: usize,
    /// The keys of projects that are known to exist.
    known_projects: HashSet<String>,
    /// The places of projects, by the plain ids in records.
    homes: HashMap<String, Home>,
    /// Projects to archive, after all their records are written.
    archived: BTreeMap<String, TimestampMs>,
    /// The new ids of packages, by the project's key and the id in the import.
    pub(super) renamed: HashMap<(String, String), String>,
    /// Whether a project has renamed packages, by its key.
    pub(super) with_renamed: HashMap<String, bool>,
    record_counts: Counts,
    announced_counts: Option<Counts>,
    has_envelopes: bool,
    /// The only project of the import, if the request names one.
    only_project: Option<Home>,
}

impl<'a> Importer<'a> {
    /// Starts an import into this room.
    pub(crate) fn new(context: &'a Context, import: Import<'a>, dry_run: bool) -> Self {
        Self {
            context,
            import,
            dry_run: dry_run.then(Prediction::default),
            report: Report { dry_run, ..Report::default() },
            pending: Vec::new(),
            bytes_waiting: 0,
            known_projects: HashSet::new(),
            homes: HashMap::new(),
            archived: BTreeMap::new(),
            renamed: HashMap::new(),
            with_renamed: HashMap::new(),
            record_counts: Counts::default(),
            announced_counts: None,
            has_envelopes: false,
            only_project: None,
        }
    }

    /// The same import into this project alone, whatever owner the records name; records of projects with another id are
    /// refused.
    pub(crate) fn into_project(self, project: Option<Home>) -> Self {
        Self { only_project: project, ..self }
    }

    /// Processes a line; `None` stands for one that is too long. The report lists invalid lines.
    ///
    /// # Errors
    /// If the import cannot continue.
    pub(crate) async fn line(&mut self, nth: u64, bytes: Option<&[u8]>) -> Result<(), ContextRefusal> {
        let parsed_line = match bytes {
            None => Err(too_long()),
            Some(bytes) if bytes.trim_ascii().is_empty() => return Ok(()),
            Some(bytes) => read(bytes),
        };
        match parsed_line {
            Err(malformed) => self.report.refuse((nth, "", ""), &malformed.into()),
            Ok(ImportLine::Other) => {
                self.report.ignored += 1;
                self.has_envelopes = true;
            }
            Ok(ImportLine::End(counts)) => {
                let announced = self.announced_counts.get_or_insert_default();
                announced.projects += counts.projects;
                announced.packages += counts.packages;
                announced.facts += counts.facts;
                announced.sessions += counts.sessions;
            }
            Ok(ImportLine::Record(record)) => {
                self.has_envelopes |= record.has_envelope;
                self.record_counts.add(record.kind);
                match ArrivingRecord::read(&record, &self.import.authority.by) {
                    Ok(arrival) => self.record(nth, &record, arrival).await?,
                    Err(malformed) => {
                        let id = ArrivingRecord::id(&record);
                        self.report.refuse((nth, record.kind.as_str(), &id), &malformed.into());
                    }
                }
            }
        }
        Ok(())
    }

    async fn record(
        &mut self,
        line: u64,
        record: &IncomingRecord,
        arrival: ArrivingRecord,
    ) -> Result<(), ContextRefusal> {
        if self.pending.first().is_some_and(|first| first.kind != record.kind) {
            self.flush().await?;
        }
        let name = ArrivingRecord::id(record);
        let (project, home) = match self.home(record, &arrival).await {
            Ok(ResolvedProject { key, home, .. }) => (key, home),
            Err(failure) => return self.report_outcome((line, record.kind, &name), Err(failure)),
        };
        if let ArrivingRecord::Project(record) = &arrival {
            let outcome = self.project((&project, &home), Some(record)).await;
            return self.report_outcome((line, Kind::Project, &name), outcome);
        }
        if !self.is_known(&project).await?
            && let Err(failure) = self.project((&project, &home), None).await
        {
            return self.report_outcome((line, record.kind, &name), Err(failure));
        }
        let arrival = match self.with_local_ids(&project, arrival).await {
            Ok(arrival) => arrival,
            Err(failure) => return self.report_outcome((line, record.kind, &name), Err(failure)),
        };
        if let ArrivingRecord::Package(package) = &arrival
            && self.waits(&project, package.origin_id())
        {
            self.flush().await?;
        }
        let (arrival, exists) = match self.looked_up(&project, arrival).await {
            Ok(found) => found,
            Err(failure) => return self.report_outcome((line, record.kind, &name), Err(failure)),
        };
        let stream = arrival.stream(&project);
        self.pending.push(PendingRecord { line, kind: record.kind, name, project, stream, arrival, exists });
        self.bytes_waiting += record.data.len();
        let is_alone = self.import.mode == Mode::Rename && record.kind == Kind::Package;
        if is_alone || self.pending.len() >= IMPORTS_AT_ONCE || self.bytes_waiting >= IMPORT_BYTES_WAITING_MAX
        {
            self.flush().await?;
        }
        Ok(())
    }

    /// Whether a package with this original id waits to be written.
    fn waits(&self, project: &str, origin_id: &str) -> bool {
        let is_it = |pending: &PendingRecord| {
            pending.project == project
                && matches!(&pending.arrival, ArrivingRecord::Package(it) if it.origin_id() == origin_id)
        };
        self.pending.iter().any(is_it)
    }

    /// The place of a record: an owner's records are in its own namespace; the operator's are where they say, or where
    /// the first record with the project's id was placed.
    async fn home(
        &mut self,
        record: &IncomingRecord,
        arrival: &ArrivingRecord,
    ) -> Result<ResolvedProject, Failure> {
        let (context, named_project) = (self.context, arrival.project_id());
        if let Some(Home { owner, project_id }) = &record.project {
            let is_its_id =
                named_project == project_id || split(named_project).is_some_and(|(_, id)| id == project_id);
            if !is_its_id {
                return Err(
                    Rejection::from(ContextFault::field("project_id", "the project of the record")).into()
                );
            }
            if self.only_project.as_ref().is_some_and(|only_project| only_project.project_id != *project_id) {
                return Err(other_project());
            }
            let owner = self.only_project.as_ref().map_or(owner, |only_project| &only_project.owner);
            if self.import.authority.by.owner().is_some_and(|own_owner| own_owner != *owner) {
                return Err(Rejection::NotPermitted.into());
            }
            return Ok(context.place_of(owner, project_id).await?);
        }
        if let Some(only_project) = &self.only_project {
            if only_project.project_id != *named_project {
                return Err(other_project());
            }
            return Ok(context.place_of(&only_project.owner, named_project).await?);
        }
        if let Some(own_owner) = self.import.authority.by.owner() {
            return Ok(context.place_of(&own_owner, named_project).await?);
        }
        let owner = match arrival {
            ArrivingRecord::Project(project) => project.owner.clone(),
            ArrivingRecord::Package(_) | ArrivingRecord::Fact(_) | ArrivingRecord::Session(_) => None,
        };
        let place = match (owner, self.homes.get(named_project)) {
            (Some(owner), _) => context.place_of(&owner, named_project).await?,
            (None, Some(Home { owner, project_id })) => context.place_of(owner, project_id).await?,
            (None, None) => context.place(&self.import.authority.by, named_project, arrival.author()).await?,
        };
        if self.homes.len() < EXPORT_PROJECTS_MAX {
            self.homes.insert(named_project.to_owned(), place.home.clone());
        }
        Ok(place)
    }

    async fn is_known(&mut self, project: &str) -> Result<bool, ContextRefusal> {
        let mut is_known = self.known_projects.contains(project)
            || self.dry_run.as_ref().is_some_and(|prediction| prediction.has_project(project));
        if !is_known && self.context.project(project).await?.exists() {
            is_known = true;
        }
        let is_first = is_known
            && self.known_projects.len() < EXPORT_PROJECTS_MAX
            && self.known_projects.insert(project.to_owned());
        // A dry run writes nothing.
        if is_first && self.dry_run.is_none() {
            self.context.claim_fact_ids(project).await?;
        }
        Ok(is_known)
    }

    /// Creates or updates a project, from its record or because another record needs it.
    async fn project(
        &mut self,
        (id, home): (&str, &Home),
        record: Option<&ArrivingProject>,
    ) -> Result<Outcome, Failure> {
        if record.is_none() && !self.context.config().auto_create_projects {
            return Err(Rejection::ProjectNotFound.into());
        }
        let named_project = NamedProject { home, record };
        let placing = Placement { context: self.context, import: &self.import, id, record: &named_project };
        let outcome = match &mut self.dry_run {
            Some(prediction) => prediction.project(&placing).await?,
            None => self.context.projects().execute(id, &placing, None).await?.reply,
        };
        if let Some(at) = record.and_then(|record| record.archived_at)
            && matches!(outcome, Outcome::New | Outcome::Continued)
        {
            self.archived.insert(id.to_owned(), at);
        }
        Ok(outcome)
    }

    /// Writes the waiting records: those of one stream in order, different streams concurrently.
    async fn flush(&mut self) -> Result<(), ContextRefusal> {
        let pending = std::mem::take(&mut self.pending);
        self.bytes_waiting = 0;
        let mut groups = BTreeMap::<String, Vec<PendingRecord>>::new();
        for record in pending {
            groups.entry(record.stream.clone()).or_default().push(record);
        }
        let mut outcomes = Vec::new();
        if let Some(prediction) = &mut self.dry_run {
            for pending in groups.into_values().flatten() {
                let outcome =
                    place(self.context, &self.import, &pending.stream, &pending.arrival, Some(prediction))
                        .await;
                outcomes.push((pending, outcome));
            }
        } else {
            let (context, import) = (self.context, &self.import);
            let writes = groups.into_values().map(|group| async move {
                let mut outcomes = Vec::with_capacity(group.len());
                for pending in group {
                    let outcome = place(context, import, &pending.stream, &pending.arrival, None).await;
                    outcomes.push((pending, outcome));
                }
                outcomes
            });
            outcomes.extend(join_all(writes).await.into_iter().flatten());
        }
        outcomes.sort_by_key(|(pending, _)| pending.line);
        for (pending, outcome) in outcomes {
            match (&pending.arrival, &outcome) {
                (ArrivingRecord::Package(package), Ok(Outcome::Differs))
                    if self.import.mode == Mode::Rename && !pending.exists =>
                {
                    let outcome = self.rename(&pending, package).await;
                    self.report_outcome((pending.line, pending.kind, &pending.name), outcome)?;
                }
                _ => self.report_outcome((pending.line, pending.kind, &pending.name), outcome)?,
            }
        }
        Ok(())
    }

    fn report_outcome(
        &mut self,
        (line, kind, name): (u64, Kind, &str),
        outcome: Result<Outcome, Failure>,
    ) -> Result<(), ContextRefusal> {
        match outcome {
            Ok(outcome) => self.report.count(outcome),
            Err(Failure::Rejected(Rejection::Revoked)) => return Err(Rejection::Revoked.into()),
            Err(Failure::Rejected(rejection)) => {
                self.report.refuse((line, kind.as_str(), name), &rejection.into());
            }
            Err(failure @ Failure::OverQuota(_)) => {
                self.report.refuse((line, kind.as_str(), name), &failure.into());
            }
            Err(Failure::Fault(fault)) => return Err(fault.into()),
        }
        Ok(())
    }

    /// Writes the waiting records and returns the report.
    ///
    /// # Errors
    /// If the import cannot continue.
    pub(crate) async fn finish(mut self) -> Result<Report, ContextRefusal> {
        self.flush().await?;
        if self.dry_run.is_none() {
            for (project, at) in std::mem::take(&mut self.archived) {
                let authority = self.import.authority.clone();
                let edit = EditProject { authority, edit: Edit::Archive(Some(at)) };
                self.context.edit_project(&project, &edit).await?;
            }
        }
        self.report.refused.sort_by_key(|refused| refused.line);
        let Counts { projects, packages, facts, sessions, .. } = self.record_counts;
        let record_counts = Counts { projects, packages, facts, sessions, damaged: 0 };
        self.report.complete = match self.announced_counts {
            Some(announced) => Some(announced == record_counts),
            None => self.has_envelopes.then_some(false),
        };
        Ok(self.report)
    }
}

fn other_project() -> Failure {
    Rejection::from(ContextFault::field("project_id", "that of the project of the import")).into()
}

fn too_long() -> ContextFault {
    let bytes_max = crate::limits::LINE_BYTES_MAX;
    ContextFault {
        code: Code::LineTooLong,
        field: None,
        message: format!("The line is larger than {bytes_max} bytes."),
    }
}

impl ArrivingRecord {
    pub(super) fn project_id(&self) -> &str {
        match self {
            Self::Project(project) => &project.project_id,
            Self::Package(package) => &package.package.head.project_id,
            Self::Fact(fact) => &fact.project_id,
            Self::Session(session) => &session.project_id,
        }
    }

    /// The author that the record states.
    fn author(&self) -> Option<&str> {
        match self {
            Self::Project(_) => None,
            Self::Package(package) => Some(&package.package.head.created_by.id),
            Self::Fact(fact) => fact.asserted_by.as_ref().map(|by| by.id.as_str()),
            Self::Session(session) => Some(&session.started.actor_id),
        }
    }

    pub(super) fn stream(&self, project: &str) -> String {
        match self {
            Self::Project(_) => project.to_owned(),
            Self::Package(package) => key::join(&[project, &key::part(&package.package.head.package_id)]),
            Self::Fact(fact) => stream_id(project, &fact.subject, &fact.predicate),
            Self::Session(session) => key::join(&[project, &key::part(&session.started.session_id)]),
        }
    }
}

/// Writes a record, or predicts the outcome in a dry run.
pub(super) async fn place(
    context: &Context,
    import: &Import<'_>,
    id: &str,
    arrival: &ArrivingRecord,
    prediction: Option<&mut Prediction>,
) -> Result<Outcome, Failure> {
    macro_rules! place {
        ($record:expr, $streams:expr, $foretell:ident) => {{
            let placing = Placement { context, import, id, record: &**$record };
            match prediction {
                Some(prediction) => prediction.$foretell(&placing).await?,
                None => $streams.execute(id, &placing, None).await?.reply,
            }
        }};
    }
    Ok(match arrival {
        ArrivingRecord::Project(_) => Outcome::Same,
        ArrivingRecord::Package(record) => place!(record, context.packages(), package),
        ArrivingRecord::Fact(record) => place!(record, context.fact_states(), fact),
        ArrivingRecord::Session(record) => place!(record, context.session_states(), session),
    })
}
