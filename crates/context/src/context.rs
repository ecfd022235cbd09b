//! The interface of this room for others: commands in, states and rows out.
//! Must not know: HTTP.

use std::sync::Arc;

use plenary_accounts::{Accounts, TokenDigest, Watchers};
use plenary_blobs::{BLOB_BYTES_MAX, Blobs};
use plenary_engine::{ExecuteError, Room, Streams};
use plenary_indexing::Follower;
use plenary_kernel::{Clock, limits::READ_ROWS_MAX};
use plenary_log::{ExceededQuota, Fault, Log, StoredEvent};
use plenary_retrieval::Relevance;
use prometheus_client::metrics::gauge::Gauge;

use crate::{
    activity::room::ActivityRoom,
    attribution::Attribution,
    blob::room::BlobRoom,
    fact::{
        command::{AssertFact, InvalidateFact},
        room::{FactRoom, OnFacts, stream_id},
    },
    key,
    limits::WATCHERS_PER_TOKEN_MAX,
    members::Object,
    package::{
        command::{DepositPackage, MovePackage},
        decide::{DepositOutcome, StepOutcome},
        room::{DepositWith, MoveWith, PackageRoom, deposit_of},
    },
    project::{
        command::{CreateProject, EditProject},
        room::{OnProject, ProjectRoom},
    },
    project_names::ResolvedProject,
    quotas::{Quotas, RunningWork},
    rejection::Rejection,
    search::{self, Indexes, SemanticSearch},
    session::{
        command::{EndSession, StartSession},
        room::{OnSession, SessionRoom},
    },
};

/// The settings of an operator.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Whether a deposit or an assertion creates a missing project (wire.md D.4).
    pub auto_create_projects: bool,
    /// Which actors a token may name as authors.
    pub attribution: Attribution,
    /// Largest blob, in bytes; a larger one gets 413.
    pub blob_bytes_max: u64,
    /// Limits for concurrent work of one owner.
    pub quotas: Quotas,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            auto_create_projects: true,
            attribution: Attribution::Own,
            blob_bytes_max: BLOB_BYTES_MAX,
            quotas: Quotas::default(),
        }
    }
}

/// The reason why a command of this room failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A normal "no".
    #[error("rejected")]
    Rejected(Rejection),
    /// The owner's storage quota is exhausted.
    #[error("the owner's quota is exceeded")]
    OverQuota(ExceededQuota),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<ExecuteError<Rejection>> for Failure {
    fn from(error: ExecuteError<Rejection>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => Self::Rejected(rejection),
            ExecuteError::KeyReused => Self::Rejected(Rejection::KeyReused),
            ExecuteError::OverQuota(exceeded) => Self::OverQuota(exceeded),
            ExecuteError::Fault(fault) => Self::Fault(fault),
        }
    }
}

/// The context room. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    accounts: Accounts,
    projects: Streams<ProjectRoom>,
    packages: Streams<PackageRoom>,
    facts: Streams<FactRoom>,
    sessions: Streams<SessionRoom>,
    search: Follower,
    meaning: Option<SemanticSearch>,
    reranker: Option<Arc<dyn Relevance>>,
    activity: Streams<ActivityRoom>,
    blob_states: Streams<BlobRoom>,
    blobs: Option<Blobs>,
    watchers: Watchers<TokenDigest>,
    config: Config,
    running_work: RunningWork,
}

impl Context {
    /// The room on a log, with its search indexes. Without `blobs` it stores no contents of deliverables, and does not
    /// announce that capability.
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        indexes: impl Into<Indexes>,
        blobs: Option<Blobs>,
        config: Config,
    ) -> Self {
        let Indexes { lexical, semantic, reranker } = indexes.into();
        Self(Arc::new(Inner {
            accounts,
            projects: Streams::new(log.clone(), clock.clone()),
            packages: Streams::new(log.clone(), clock.clone()),
            facts: Streams::new(log.clone(), clock.clone()),
            sessions: Streams::new(log.clone(), clock.clone()),
            activity: Streams::new(log.clone(), clock.clone()),
            blob_states: Streams::new(log, clock),
            blobs,
            watchers: Watchers::new(WATCHERS_PER_TOKEN_MAX),
            search: search::words(lexical),
            meaning: semantic.map(SemanticSearch::new),
            reranker,
            running_work: RunningWork::new(config.quotas),
            config,
        }))
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn projects(&self) -> &Streams<ProjectRoom> {
        &self.0.projects
    }
    pub(crate) fn packages(&self) -> &Streams<PackageRoom> {
        &self.0.packages
    }
    pub(crate) fn fact_states(&self) -> &Streams<FactRoom> {
        &self.0.facts
    }
    pub(crate) fn session_states(&self) -> &Streams<SessionRoom> {
        &self.0.sessions
    }
    pub(crate) fn activity(&self) -> &Streams<ActivityRoom> {
        &self.0.activity
    }
    pub(crate) fn blob_states(&self) -> &Streams<BlobRoom> {
        &self.0.blob_states
    }
    pub(crate) fn blobs(&self) -> Option<&Blobs> {
        self.0.blobs.as_ref()
    }
    pub(crate) fn watchers(&self) -> &Watchers<TokenDigest> {
        &self.0.watchers
    }
    pub(crate) fn log(&self) -> &Log {
        self.0.projects.log()
    }
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.0.projects.clock()
    }
    pub(crate) fn search(&self) -> &Follower {
        &self.0.search
    }
    /// Number of events that the word index has not processed yet.
    pub fn search_lag(&self) -> &Gauge {
        self.search().lag()
    }
    pub(crate) fn meaning(&self) -> Option<&SemanticSearch> {
        self.0.meaning.as_ref()
    }
    /// The reranker, if it works at the moment.
    pub(crate) fn reranker(&self) -> Option<&Arc<dyn Relevance>> {
        self.0.reranker.as_ref().filter(|reranker| reranker.works())
    }
    /// Number of events that the vector index has not processed yet; absent without a model.
    pub fn semantic_lag(&self) -> Option<&Gauge> {
        self.meaning().map(|meaning| meaning.search.lag())
    }
    /// Closes the indexes.
    pub async fn close_search(&self) -> Result<(), Fault> {
        let meaning = async {
            match self.meaning() {
                Some(meaning) => meaning.search.close().await,
                None => Ok(()),
            }
        };
        let (words, meaning) = tokio::join!(self.search().close(), meaning);
        words.and(meaning).map_err(|fault| Fault::Unavailable(fault.to_string()))
    }
    pub(crate) fn running_work(&self) -> &RunningWork {
        &self.0.running_work
    }
    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    /// Applies the side events of a command to the cached state, so that the next read sees them.
    pub(crate) async fn catch_up<R: Room>(&self, streams: &Streams<R>, id: &str) -> Result<(), Fault> {
        let (_, version) = streams.state(id).await?;
        for event in self.log().read_stream(&R::stream(id), version, READ_ROWS_MAX).await? {
            streams.observe(&event);
        }
        Ok(())
    }

    /// Applies the events of a project that a stored command has created. The observer applies the same events later, so
    /// a fault is only logged.
    async fn refresh_project(&self, project: &str) {
        if let Err(fault) = self.catch_up(&self.0.projects, project).await {
            tracing::warn!(%fault, "a new project is applied to the cache later");
        }
    }

    /// Deposits a package into a project.
    pub(crate) async fn deposit(
        &self,
        place: &ResolvedProject,
        command: &DepositPackage,
    ) -> Result<DepositOutcome, Failure> {
        let ResolvedProject { key: project, home, .. } = place;
        let id = key::join(&[project, &key::part(&command.package.head.package_id)]);
        let depositing = DepositWith { context: self, project, home, command };
        let done = match self.0.packages.begin(&id, &depositing, None).await {
            Ok(done) => done,
            Err(failure) => return Err(self.failure_on(&id, failure.into()).await),
        };
        if done.reply.makes_project {
            self.refresh_project(project).await;
        }
        Ok(done.reply)
    }

    /// Moves a package along its lifecycle. `id` is the id of its stream. Returns the state after this step, even if
    /// other steps follow at once (AP-63, AP-86).
    pub(crate) async fn move_package(&self, id: &str, command: &MovePackage) -> Result<StepOutcome, Failure> {
        match self.0.packages.execute(id, &MoveWith { context: self, id, command }, None).await {
            Ok(done) => Ok(done.reply),
            Err(failure) => Err(self.failure_on(id, failure.into()).await),
        }
    }

    /// The `created_by` of a package, as it was sent; `None` if there is no such package. Sees at least everything that
    /// this process has committed.
    pub(crate) async fn author(&self, project: &str, package_id: &str) -> Result<Option<String>, Fault> {
        let id = key::join(&[project, &key::part(package_id)]);
        let (mut state, _) = self.0.packages.state(&id).await?;
        if state.0.is_none() {
            self.catch_up(&self.0.packages, &id).await?;
            (state, _) = self.0.packages.state(&id).await?;
        }
        if state.0.is_none() {
            return Ok(None);
        }
        let package = deposit_of(self, &id).await?;
        Ok(Object::parse(&package).and_then(|object| object.get("created_by")).map(str::to_owned))
    }

    /// Asserts a fact and returns its stored form.
    pub(crate) async fn assert_fact(&self, project: &str, command: &AssertFact) -> Result<String, Failure> {
        let id = stream_id(project, &command.fact.subject, &command.fact.predicate);
        let asserting = OnFacts { context: self, project, command };
        let done = self.0.facts.execute(&id, &asserting, None).await?;
        if done.reply.makes_project {
            self.refresh_project(project).await;
        }
        Ok(done.reply.document)
    }

    /// Ends the current fact of a subject and predicate. Returns how many ended.
    pub(crate) async fn invalidate_fact(
        &self,
        project: &str,
        (subject, predicate): (&str, &str),
        command: &InvalidateFact,
    ) -> Result<u64, Failure> {
        let id = stream_id(project, subject, predicate);
        let invalidating = OnFacts { context: self, project, command };
        Ok(self.0.facts.execute(&id, &invalidating, None).await?.reply)
    }

    /// Starts a session and returns its id; a repeated request returns the id of the first one.
    pub(crate) async fn start_session(
        &self,
        project: &str,
        command: &StartSession,
    ) -> Result<String, Failure> {
        let id = key::join(&[project, &key::part(&command.session_id)]);
        let starting = OnSession { context: self, project, command };
        Ok(self.0.sessions.begin(&id, &starting, None).await?.reply)
    }

    /// Ends a session, given by the keys of its project and itself.
    pub(crate) async fn end_session(
        &self,
        (project, session): (&str, &str),
        command: &EndSession,
    ) -> Result<(), Failure> {
        let id = key::join(&[project, session]);
        self.0.sessions.execute(&id, &OnSession { context: self, project, command }, None).await?;
        Ok(())
    }

    /// Creates a project and returns its key.
    pub(crate) async fn create_project(&self, command: &CreateProject) -> Result<String, Failure> {
        let ResolvedProject { key, .. } = self.place_of(&command.home(), &command.project_id).await?;
        self.0.projects.execute(&key, &OnProject { context: self, command }, None).await?;
        Ok(key)
    }

    /// Changes a project.
    pub(crate) async fn edit_project(&self, id: &str, command: &EditProject) -> Result<(), Failure> {
        self.0.projects.execute(id, &OnProject { context: self, command }, None).await?;
        Ok(())
    }

    /// Ends every live stream; no new one begins.
    pub fn close(&self) {
        self.0.watchers.close();
    }

    /// Applies a committed event of any process to the cached states.
    pub fn observe(&self, event: &StoredEvent) {
        match event.stream.category() {
            ProjectRoom::CATEGORY => self.0.projects.observe(event),
            PackageRoom::CATEGORY => self.0.packages.observe(event),
            FactRoom::CATEGORY => self.0.facts.observe(event),
            SessionRoom::CATEGORY => self.0.sessions.observe(event),
            BlobRoom::CATEGORY => self.0.blob_states.observe(event),
            ActivityRoom::CATEGORY => self.0.activity.observe(event),
            _ => {}
        }
    }
}
