//! A package: the fold of its stream, without its content. Pure.
//! Must not know: its project.

use plenary_accounts::Actor;
use plenary_kernel::Version;
use serde::{Deserialize, Serialize};

use super::event::{PackageEvent, PackageMoved};
use crate::{
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    moment::Moment,
    schema::Creator,
};

/// A package. The default means that no package has the id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageState(pub Option<Present>);

/// An existing package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Present {
    /// Its content hash at the deposit.
    pub deposited: ContentHash,
    /// Its current content hash.
    pub hash: ContentHash,
    /// Its current state.
    pub status: Status,
    /// The current kind of reviewer.
    pub review_type: ReviewType,
    /// Its type.
    pub package_type: String,
    /// The creation time that the package states.
    pub created_at: Moment,
    /// The author that the package states.
    pub created_by: Creator,
    /// The number of its review steps.
    pub steps: u32,
    /// The event since which it has its status, and who caused it.
    pub since: Version,
    /// See `since`.
    pub moved_by: Actor,
}

impl PackageState {
    /// The package after an event.
    pub fn evolve(&mut self, event: &PackageEvent) {
        match event {
            PackageEvent::PackageDeposited(event) => {
                self.0 = Some(Present {
                    deposited: event.hash,
                    hash: event.hash,
                    status: event.status,
                    review_type: event.review_type,
                    package_type: event.package_type.clone(),
                    created_at: event.created_at,
                    created_by: event.created_by.clone(),
                    steps: 0,
                    since: Version(1),
                    moved_by: event.by.clone(),
                });
            }
            PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => self.go(event),
        }
    }

    fn go(&mut self, event: &PackageMoved) {
        if let Some(present) = &mut self.0 {
            present.steps += 1;
            if event.status != present.status {
                // The deposit is the first event, and each step is one more.
                present.since = Version(u64::from(present.steps) + 1);
                present.moved_by = event.by.clone();
            }
            present.status = event.status;
            present.review_type = event.review_type;
            present.hash = event.hash;
        }
    }
}
