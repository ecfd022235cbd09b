//! The commands on a fact's stream. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;

use super::document::Assertion;
use crate::{attribution::Attribution, moment::Moment, naming::Home};

/// Asserts a fact (section 8.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertFact {
    /// In whose name.
    pub authority: Authority,
    /// The project, which comes into being there if there is none.
    pub home: Home,
    /// The fact.
    pub fact: Assertion,
    /// Whether tokens are held to their own actors.
    pub attribution: Attribution,
    /// Whether an unknown project comes into being.
    pub makes_projects: bool,
    /// The span of the request, as a `traceparent`.
    pub trace: Option<Box<str>>,
}

/// Ends the current fact of a subject and predicate (section 8.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidateFact {
    /// In whose name.
    pub authority: Authority,
    /// Only a fact with this value (AP-67).
    pub object: Option<String>,
}

/// What a decider of facts knows of the package that a fact comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// None was named.
    Unnamed,
    /// It is not in the project.
    Absent,
    /// It is, and this is its `created_by` as it was sent.
    By(String),
}

/// The latest moment that a fact may be valid from: now.
#[must_use]
pub fn now(stamp: &plenary_kernel::Stamp) -> Moment {
    Moment::of(stamp.now)
}
