//! The commands on a package's stream. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;

use crate::{
    attribution::Attribution,
    lifecycle::{ReviewType, Status},
    schema::Package,
};

/// Deposits a package (section 8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositPackage {
    /// The caller, with its token.
    pub authority: Authority,
    /// The package.
    pub package: Package,
    /// Which actors a token may name as authors.
    pub attribution: Attribution,
    /// Whether an unknown project is created.
    pub makes_projects: bool,
    /// The span of the request, as a `traceparent`.
    pub trace: Option<Box<str>>,
}

/// Moves a package along its lifecycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovePackage {
    /// The caller, with its token.
    pub authority: Authority,
    /// The step.
    pub step: Step,
    /// The reason, for the review log (wire.md 0.4 row 18).
    pub note: Option<String>,
}

/// A step of the lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Requests a review (section 8.5).
    Flag(ReviewType),
    /// Reviews the package.
    Review(Status),
}
