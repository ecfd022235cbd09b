//! The packages that wait for a review that an agent may give.
//! Must not know: marks, or the presentation.

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, Order, StoredEvent, StreamName};
use serde_json::Value;

use crate::{
    Context,
    index::PENDING,
    key,
    lifecycle::Status,
    package::{
        event::{PackageEvent, Standing},
        room::PackageRoom,
        state::{PackageState, Present},
    },
    project::{room::ProjectRoom, state::ProjectState},
};

/// Most projects of an agent that are checked for waiting reviews.
pub const PROJECTS_LOOKED_THROUGH_MAX: usize = 10_000;

/// A package that waits for a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewAsked {
    /// The event since which it waits: its deposit, or a flag.
    pub event: StoredEvent,
    /// The agent that requested the review; absent for requests by others.
    pub by: Option<AgentHandle>,
    /// Its project.
    pub project_id: String,
    /// Its id.
    pub package_id: String,
    /// Its title.
    pub title: String,
    /// The note of the request, or the description of the package.
    pub text: String,
}

/// Whether a stream is a package's.
pub fn is_package(stream: &StreamName) -> bool {
    stream.category() == PackageRoom::CATEGORY
}

/// Whether a stream is a project's: its reviewers may have changed.
pub fn is_project(stream: &StreamName) -> bool {
    stream.category() == ProjectRoom::CATEGORY
}

/// Whether a committed event of a package requests a review.
pub fn asks_for_review(event: &StoredEvent) -> Result<bool, Fault> {
    Ok(Standing::read(event)?.asks_for_review())
}

fn project_of(package: &StreamName) -> &str {
    package.id().split_once('/').map_or("", |(project, _)| project)
}

impl Context {
    /// The packages that wait for a review in the projects where an agent may review.
    pub async fn awaiting_review_of(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        let (by, mut packages) = (Actor::Agent(me.clone()), Vec::new());
        for (part, project) in self.admitted(&by, PROJECTS_LOOKED_THROUGH_MAX).await? {
            if !project.access(&by).review {
                continue;
            }
            let prefix = format!("{part}/{}/", Status::AwaitingReview.as_str());
            let mut rows = self.log().index_rows(PENDING, &prefix, Order::Ascending);
            while let Some(row) = rows.next().await? {
                let id = row.key.rsplit('/').next();
                packages.extend(id.map(|id| PackageRoom::stream(&key::join(&[&part, id]))));
            }
        }
        Ok(packages)
    }

    /// Whether an agent may review in the project of a package.
    pub async fn may_review(&self, me: &AgentHandle, package: &StreamName) -> Result<bool, Fault> {
        let (state, _) = self.projects().state(project_of(package)).await?;
        let by = Actor::Agent(me.clone());
        Ok(state.access(&by).review && self.is_admitted(&by, &state).await?)
    }

    /// Whether a package waits for a review since the event at a version, and the agent may give it and did not request it.
    /// From the states in memory.
    pub(crate) async fn is_review_open(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        since: Version,
    ) -> Result<bool, Fault> {
        let (package, _) = self.packages().observed(stream.id()).await?;
        if package.0.as_ref().is_none_or(|present| present.since != since) {
            return Ok(false);
        }
        let (project, _) = self.projects().observed(project_of(stream)).await?;
        Ok(self.reviewable(me, &project, &package).await?.is_some())
    }

    /// The package, if it waits for a review that an agent may give and did not request itself.
    async fn reviewable<'p>(
        &self,
        me: &AgentHandle,
        project: &ProjectState,
        package: &'p PackageState,
    ) -> Result<Option<&'p Present>, Fault> {
        let by = Actor::Agent(me.clone());
        let waits = |present: &&Present| present.status == Status::AwaitingReview && present.moved_by != by;
        let Some(present) = package.0.as_ref().filter(waits) else { return Ok(None) };
        let may_review = project.access(&by).review && self.is_admitted(&by, project).await?;
        Ok(may_review.then_some(present))
    }

    /// The pending review request of a package; `None` if there is none, or the agent may not review or made the
    /// request itself.
    pub async fn review_asked(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
    ) -> Result<Option<ReviewAsked>, Fault> {
        let project = project_of(stream);
        let (state, (package, _)) = (self.project(project).await?, self.packages().fresh(stream.id()).await?);
        let Some(present) = self.reviewable(me, &state, &package).await? else { return Ok(None) };
        let Some(first) = self.event_at(stream, Version(1)).await? else { return Ok(None) };
        let PackageEvent::PackageDeposited(deposited) = PackageEvent::decode(&first)? else {
            return Ok(None);
        };
        let (event, note) = if present.since == first.version {
            (first, None)
        } else {
            let Some(event) = self.event_at(stream, present.since).await? else { return Ok(None) };
            let note = match PackageEvent::decode(&event)? {
                PackageEvent::PackageFlagged(moved) | PackageEvent::PackageReviewed(moved) => moved.note,
                PackageEvent::PackageDeposited(_) => None,
            };
            (event, note)
        };
        let by = match &present.moved_by {
            Actor::Agent(agent) => Some(agent.clone()),
            Actor::Operator | Actor::Seed | Actor::Owner(_) => None,
        };
        let content: Value = serde_json::from_slice(&deposited.raw).unwrap_or_default();
        let member = |name: &str| content.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = note.unwrap_or_else(|| member("description"));
        let project_id = self.shortest_name(&Actor::Agent(me.clone()), project, &state).await?;
        let title = member("title");
        Ok(Some(ReviewAsked { event, by, project_id, package_id: deposited.package_id, title, text }))
    }

    async fn event_at(&self, stream: &StreamName, version: Version) -> Result<Option<StoredEvent>, Fault> {
        let before = Version(version.0.saturating_sub(1));
        Ok(self.log().read_stream(stream, before, 1).await?.pop())
    }
}
