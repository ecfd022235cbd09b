//! The packages that wait for a review that an agent may give.
//! Must not know: marks, or the presentation.

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::AgentHandle;
use plenary_log::{Fault, Order, StoredEvent, StreamName};
use serde_json::Value;

use crate::{
    Context,
    index::PENDING,
    key,
    lifecycle::Status,
    package::{
        event::{PackageEvent, PackageMoved},
        room::PackageRoom,
    },
    project::room::ProjectRoom,
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
    Ok(match PackageEvent::decode(event)? {
        PackageEvent::PackageDeposited(event) => event.status == Status::AwaitingReview,
        PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => {
            event.status == Status::AwaitingReview && event.from != Status::AwaitingReview
        }
    })
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
        let project = package.id().split_once('/').map_or("", |(project, _)| project);
        let (state, _) = self.projects().state(project).await?;
        let by = Actor::Agent(me.clone());
        Ok(state.access(&by).review && self.is_admitted(&by, &state).await?)
    }

    /// The pending review request of a package; `None` if there is none, or the agent may not review or made the
    /// request itself.
    pub async fn review_asked(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
    ) -> Result<Option<ReviewAsked>, Fault> {
        let project = stream.id().split_once('/').map_or("", |(project, _)| project);
        let (state, by) = (self.project(project).await?, Actor::Agent(me.clone()));
        if !state.access(&by).review || !self.is_admitted(&by, &state).await? {
            return Ok(None);
        }
        let history = self.history(stream.id()).await?;
        let Some(PackageEvent::PackageDeposited(deposited)) =
            history.first().map(PackageEvent::decode).transpose()?
        else {
            return Ok(None);
        };
        let (mut status, mut since) = (deposited.status, 0);
        let (mut by, mut note) = (deposited.by.clone(), None);
        for (nth, stored) in history.iter().enumerate().skip(1) {
            let (PackageEvent::PackageFlagged(moved) | PackageEvent::PackageReviewed(moved)) =
                PackageEvent::decode(stored)?
            else {
                continue;
            };
            let PackageMoved { by: mover, status: to, note: step_note, .. } = moved;
            if to != status {
                (status, since, by, note) = (to, nth, mover, step_note);
            }
        }
        let Some(event) = history.into_iter().nth(since).filter(|_| status == Status::AwaitingReview) else {
            return Ok(None);
        };
        let by = match by {
            Actor::Agent(agent) if agent == *me => return Ok(None),
            Actor::Agent(agent) => Some(agent),
            Actor::Operator | Actor::Seed | Actor::Owner(_) => None,
        };
        let package: Value = serde_json::from_slice(&deposited.raw).unwrap_or_default();
        let member = |name: &str| package.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = note.unwrap_or_else(|| member("description"));
        let project_id = self.shortest_name(&Actor::Agent(me.clone()), project, &state).await?;
        let title = member("title");
        Ok(Some(ReviewAsked { event, by, project_id, package_id: deposited.package_id, title, text }))
    }
}
