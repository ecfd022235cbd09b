//! A package: the fold of its stream, without its content. Pure.
//! Must not know: its project.

use serde::{Deserialize, Serialize};

use super::event::{PackageEvent, PackageMoved};
use crate::{
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    moment::Moment,
    schema::Creator,
};

/// A package. The default is an id that nothing has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageState(pub Option<Present>);

/// A package that was deposited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Present {
    /// Its content hash when it was deposited.
    pub deposited: ContentHash,
    /// Its content hash now.
    pub hash: ContentHash,
    /// Its state now.
    pub status: Status,
    /// Who is to review it now.
    pub review_type: ReviewType,
    /// Its type.
    pub package_type: String,
    /// When it says that it was made.
    pub created_at: Moment,
    /// Who it says that it is by.
    pub created_by: Creator,
    /// How many steps it has gone.
    pub steps: u32,
}

impl Present {
    /// Whether it is as it was deposited.
    #[must_use]
    pub fn is_as_deposited(&self) -> bool {
        self.deposited == self.hash
    }
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
                });
            }
            PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => self.go(event),
        }
    }

    fn go(&mut self, event: &PackageMoved) {
        if let Some(present) = &mut self.0 {
            present.status = event.status;
            present.review_type = event.review_type;
            present.hash = event.hash;
            present.steps += 1;
        }
    }
}
