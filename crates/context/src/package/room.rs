//! Packages as a room of the engine.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, SideEvents};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Batch, Fault, IndexOp, NewEvent, StreamName};

use super::{
    command::{DepositPackage, MovePackage},
    decide::{self, DepositOutcome, StepOutcome},
    event::{PackageDeposited, PackageEvent},
    state::PackageState,
};
use crate::{
    Context,
    activity::{event::Activity, room::note},
    index::{CHILDREN, OF_SESSION, PACKAGE_IDS, PACKAGES, PENDING, QUESTIONS, RENAMED},
    key,
    lifecycle::Status,
    members::{Object, quoted},
    moment::Moment,
    project::{decide::InProject, room::made_beside},
    project_names::Home,
    rejection::Rejection,
};

/// The streams `context.package/<project>/<package>`.
#[derive(Debug)]
pub struct PackageRoom;

impl Room for PackageRoom {
    type State = PackageState;
    type Event = PackageEvent;
    const CATEGORY: &'static str = "context.package";
    const SNAPSHOT_FORM: u16 = 2;

    fn evolve(state: &mut PackageState, _: Version, _: TimestampMs, event: &PackageEvent) {
        state.evolve(event);
    }
    fn payer(_: &str, _: &PackageState, event: &PackageEvent) -> Option<OwnerName> {
        let (by, imported_by) = match event {
            PackageEvent::PackageDeposited(event) => (&event.by, &event.imported_by),
            PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => {
                (&event.by, &event.imported_by)
            }
        };
        imported_by.as_ref().unwrap_or(by).owner()
    }
    fn follow(id: &str, version: Version, event: &PackageEvent) -> Vec<(StreamName, NewEvent)> {
        let (activity, draft_of, trace) = match event {
            PackageEvent::PackageDeposited(event) => {
                let draft_of = (event.status == Status::Draft).then(|| event.created_by.id.clone());
                (Activity::PackageDeposited, draft_of, event.trace.clone())
            }
            PackageEvent::PackageFlagged(_) | PackageEvent::PackageReviewed(_) => {
                (Activity::PackageStatusChanged, None, None)
            }
        };
        vec![note(activity, id, version, draft_of, trace)]
    }
    fn index(id: &str, event: &PackageEvent) -> Vec<IndexOp> {
        let (project, package) = id.split_once('/').unwrap_or((id, ""));
        match event {
            PackageEvent::PackageDeposited(event) => deposited(project, package, event),
            PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => {
                let at = event.created_at;
                let mut ops = vec![
                    listed(project, package, at, event.status, &event.package_type),
                    IndexOp::delete(PENDING, pending(project, package, at, event.from)),
                ];
                ops.extend(awaits(project, package, at, event.status));
                ops
            }
        }
    }
}

fn listed(project: &str, package: &str, at: Moment, status: Status, package_type: &str) -> IndexOp {
    let value = format!("{} {package_type}", status.as_str());
    IndexOp::put_value(PACKAGES, key::join(&[project, at.as_str(), package]), value)
}

fn pending(project: &str, package: &str, at: Moment, status: Status) -> String {
    key::join(&[project, status.as_str(), at.as_str(), package])
}

fn awaits(project: &str, package: &str, at: Moment, status: Status) -> Option<IndexOp> {
    let key = pending(project, package, at, status);
    (status != Status::Complete).then(|| IndexOp::put(PENDING, key))
}

fn deposited(project: &str, package: &str, event: &PackageDeposited) -> Vec<IndexOp> {
    let at = event.created_at;
    let below = |of: &str| key::join(&[project, &key::part(of), at.as_str(), package]);
    let mut ops = vec![
        listed(project, package, at, event.status, &event.package_type),
        IndexOp::put(PACKAGE_IDS, key::join(&[package, project])),
    ];
    ops.extend(awaits(project, package, at, event.status));
    if let Some(origin) = &event.renamed_from {
        let key = key::join(&[project, &key::part(origin), package]);
        ops.push(IndexOp::put_value(RENAMED, key, event.package_id.clone()));
    }
    if let Some(parent) = &event.parent {
        ops.push(IndexOp::put(CHILDREN, below(parent)));
    }
    if let Some(session) = &event.created_by.session_id {
        let value = Bytes::from(event.package_id.clone());
        ops.push(IndexOp::put_value(OF_SESSION, below(session), value));
    }
    if event.asks {
        let text = std::str::from_utf8(&event.raw).unwrap_or_default();
        let object = Object::parse(text);
        let member = |name| object.as_ref().and_then(|object| object.get(name));
        let questions = member("open_questions").unwrap_or("[]");
        let created_at = member("created_at").unwrap_or("\"\"");
        let value = format!(
            "{{\"package_id\":{},\"created_at\":{created_at},\"draft\":{},\"questions\":{questions}}}",
            quoted(&event.package_id),
            event.status == Status::Draft
        );
        let key = key::join(&[project, at.as_str(), package]);
        ops.push(IndexOp::put_value(QUESTIONS, key, value));
    }
    ops
}

/// `DepositPackage` with its context.
pub(crate) struct DepositWith<'a> {
    pub(crate) context: &'a Context,
    /// The project's key.
    pub(crate) project: &'a str,
    /// The place of the project, which is created if it does not exist.
    pub(crate) home: &'a Home,
    pub(crate) command: &'a DepositPackage,
}

impl Command<PackageRoom> for DepositWith<'_> {
    const NAME: &'static str = "deposit";
    type Reply = DepositOutcome;
    type Rejection = Rejection;
    type Facts = InProject;

    async fn facts(&self, _: &PackageState, conditions: &mut Conditions) -> Result<InProject, Fault> {
        self.context.in_project(self.project, &self.command.authority, conditions).await
    }
    fn decide(&self, state: &PackageState, facts: &InProject, _: &Point) -> Decided<PackageRoom, Self> {
        decide::deposit(state, facts, self.command)
    }
    fn side_events(&self, decided: &Decision<PackageEvent, DepositOutcome>, _: &Stamp) -> SideEvents {
        if !decided.reply.makes_project {
            return SideEvents::default();
        }
        made_beside(self.project, self.home, &self.command.authority.by)
    }
}

/// `MovePackage` with its context.
pub(crate) struct MoveWith<'a> {
    pub(crate) context: &'a Context,
    /// The stream's id.
    pub(crate) id: &'a str,
    pub(crate) command: &'a MovePackage,
}

impl Command<PackageRoom> for MoveWith<'_> {
    const NAME: &'static str = "move";
    type Reply = StepOutcome;
    type Rejection = Rejection;
    /// The project, and the package as it was sent.
    type Facts = (InProject, String);

    async fn facts(
        &self,
        state: &PackageState,
        conditions: &mut Conditions,
    ) -> Result<(InProject, String), Fault> {
        let project = self.id.split_once('/').map_or(self.id, |(project, _)| project);
        let project = self.context.in_project(project, &self.command.authority, conditions).await?;
        let deposited =
            if state.0.is_some() { deposit_of(self.context, self.id).await? } else { String::new() };
        Ok((project, deposited))
    }
    fn decide(
        &self,
        state: &PackageState,
        (project, deposited): &(InProject, String),
        _: &Point,
    ) -> Decided<PackageRoom, Self> {
        decide::go(state, project, deposited, self.command)
    }
}

/// A package as it was sent. If its state is ahead of the disk, waits until the queued batches are written.
pub(crate) async fn deposit_of(context: &Context, id: &str) -> Result<String, Fault> {
    let (log, stream) = (context.log(), PackageRoom::stream(id));
    let mut first = log.read_stream(&stream, Version::ZERO, 1).await?;
    if first.is_empty() {
        log.append(Batch::default()).await?;
        first = log.read_stream(&stream, Version::ZERO, 1).await?;
    }
    let Some(first) = first.first() else { return Err(Fault::Overloaded) };
    String::from_utf8(first.payload.to_vec())
        .map_err(|_| Fault::Corrupt(format!("the first event of {stream} is no text")))
}
