//! The decisions on a package. Pure.
//! Must not know: how the package is stored.

use plenary_engine::Decision;
use serde::{Deserialize, Serialize};

use super::{
    command::{DepositPackage, MovePackage, Step},
    event::{PackageDeposited, PackageEvent, PackageMoved},
    state::{PackageState, Present},
};
use crate::{
    attribution::speaks_as,
    document::Document,
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    limits::STEPS_MAX,
    project::decide::InProject,
    rejection::Rejection,
};

/// The result of a deposit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepositOutcome {
    /// Whether the package is new; otherwise an equal one existed.
    pub is_new: bool,
    /// Whether the project is created too.
    pub makes_project: bool,
    /// Its content hash.
    pub hash: ContentHash,
}

/// The state of a package after a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// Its state.
    pub status: Status,
    /// The kind of reviewer.
    pub review_type: ReviewType,
    /// Its content hash.
    pub hash: ContentHash,
}

/// Decides `DepositPackage`.
pub fn deposit(
    state: &PackageState,
    facts: &InProject,
    command: &DepositPackage,
) -> Result<Decision<PackageEvent, DepositOutcome>, Rejection> {
    let DepositPackage { authority, package, .. } = command;
    let makes_project = enter(facts, &authority.by, command.makes_projects, |access| access.write)?;
    let head = &package.head;
    if !speaks_as(&authority.by, &head.created_by.id, command.attribution) {
        return Err(Rejection::NotThatActor("created_by.id"));
    }
    if let Some(present) = &state.0 {
        // AP-83, AP-84: compare with the first deposit, not with the current state.
        if present.deposited != package.hash {
            return Err(Rejection::DuplicatePackageId);
        }
        return Ok(Decision::unchanged(DepositOutcome { is_new: false, makes_project, hash: present.hash }));
    }
    if facts.project.archived_at.is_some() {
        return Err(Rejection::ProjectArchived);
    }
    let event = PackageDeposited {
        by: authority.by.clone(),
        package_id: head.package_id.clone(),
        hash: package.hash,
        status: head.status,
        review_type: head.review_type,
        package_type: head.package_type.clone(),
        created_at: head.created_at,
        created_by: head.created_by.clone(),
        parent: head.parent_package_id.clone(),
        asks: head.asks,
        at: None,
        renamed_from: None,
        origin_hash: None,
        imported_by: None,
        trace: command.trace.clone(),
        raw: package.raw.clone(),
    };
    let reply = DepositOutcome { is_new: true, makes_project, hash: package.hash };
    Ok(Decision::new(vec![PackageEvent::PackageDeposited(event)], reply))
}

/// Checks the bearer's right in the project. Returns whether the project must be created.
pub(crate) fn enter(
    facts: &InProject,
    by: &plenary_accounts::Actor,
    makes_projects: bool,
    may: impl Fn(crate::access::Access) -> bool,
) -> Result<bool, Rejection> {
    if !facts.authority_holds {
        return Err(Rejection::Revoked);
    }
    if !facts.project.exists() {
        return if makes_projects { Ok(true) } else { Err(Rejection::ProjectNotFound) };
    }
    let access = facts.project.access(by);
    if !access.read {
        return Err(Rejection::ProjectNotFound);
    }
    if may(access) { Ok(false) } else { Err(Rejection::NotPermitted) }
}

/// Decides `MovePackage`. `deposited` is the package as it was sent.
pub fn go(
    state: &PackageState,
    facts: &InProject,
    deposited: &str,
    command: &MovePackage,
) -> Result<Decision<PackageEvent, StepOutcome>, Rejection> {
    let by = &command.authority.by;
    enter(facts, by, false, |access| match command.step {
        Step::Flag(_) => access.flag,
        Step::Review(_) => access.review,
    })?;
    let Some(present) = &state.0 else { return Err(Rejection::PackageNotFound) };
    if facts.project.archived_at.is_some() {
        return Err(Rejection::ProjectArchived);
    }
    let (status, review_type) = match command.step {
        Step::Flag(review_type) => (Status::AwaitingReview, review_type),
        Step::Review(status) => (status, present.review_type),
    };
    // A flag on a package that awaits review only changes the kind of reviewer (wire.md D.7).
    let stays = present.status == Status::AwaitingReview && matches!(command.step, Step::Flag(_));
    if !stays && !present.status.leads_to(status) {
        return Err(Rejection::InvalidTransition { from: present.status, to: status });
    }
    if present.steps >= STEPS_MAX && status != Status::Complete {
        return Err(Rejection::TooManySteps);
    }
    let Present { package_type, created_at, .. } = present.clone();
    let text = Document { deposited, status, review_type }.text();
    let hash = ContentHash::of_text(&text).unwrap_or(present.hash);
    let event = PackageMoved {
        by: by.clone(),
        from: present.status,
        status,
        review_type,
        hash,
        note: command.note.clone(),
        package_type,
        created_at,
        at: None,
        imported_by: None,
    };
    let event = match command.step {
        Step::Flag(_) => PackageEvent::PackageFlagged(event),
        Step::Review(_) => PackageEvent::PackageReviewed(event),
    };
    Ok(Decision::new(vec![event], StepOutcome { status, review_type, hash }))
}
