//! The commands on a fact's stream. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;

use super::document::Assertion;
use crate::{attribution::Attribution, moment::Moment, project_names::Home};

/// Asserts a fact (section 8.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertFact {
    /// The caller, with its token.
    pub authority: Authority,
    /// The place of the project, which is created if it does not exist.
    pub home: Home,
    /// The fact.
    pub fact: Assertion,
    /// Which actors a token may name as authors.
    pub attribution: Attribution,
    /// Whether an unknown project is created.
    pub makes_projects: bool,
    /// The span of the request, as a `traceparent`.
    pub trace: Option<Box<str>>,
}

/// Ends the current fact of a subject and predicate (section 8.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidateFact {
    /// The caller, with its token.
    pub authority: Authority,
    /// End the fact only if it has this value (AP-67).
    pub object: Option<String>,
}

/// The source package of a fact, as far as its decider needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The assertion names no package.
    Unnamed,
    /// The project has no such package.
    Absent,
    /// It exists, and this is its `created_by` as it was sent.
    By(String),
}

/// The latest allowed `valid_from`: now.
pub fn now(stamp: &plenary_kernel::Stamp) -> Moment {
    Moment::of(stamp.now)
}
