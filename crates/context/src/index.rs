//! The indexes of this room. Every key begins with the project's key (`key::project`) unless noted otherwise; `moment`
//! is the text of [`Moment::as_str`](crate::moment::Moment::as_str), whose byte order is time order.

use crate::{key, moment::Moment};

/// All projects: `<project>`.
pub(crate) const PROJECTS: &str = "context.projects";
/// The projects of an owner: `<owner>/<project>`.
pub(crate) const PROJECTS_OF: &str = "context.projects_of";
/// The projects that are shared with a member entry: `<entry>/<project>`.
pub(crate) const SHARED: &str = "context.shared";
/// The packages of a project: `<project>/<moment>/<package>`, the value `<status> <type>`.
pub(crate) const PACKAGES: &str = "context.packages";
/// The packages that are not complete: `<project>/<status>/<moment>/<package>`.
pub(crate) const PENDING: &str = "context.pending";
/// The projects that have a package with an id: `<package>/<project>`.
pub(crate) const PACKAGE_IDS: &str = "context.package_ids";
/// The packages with a parent: `<project>/<parent>/<moment>/<package>`.
pub(crate) const CHILDREN: &str = "context.children";
/// The packages that an import renamed: `<project>/<original id>/<package>`, the value the new id.
pub(crate) const RENAMED: &str = "context.renamed";
/// The packages with open questions: `<project>/<moment>/<package>`, the value the questions.
pub(crate) const QUESTIONS: &str = "context.questions";
/// The packages of a session: `<project>/<session>/<moment>/<package>`, the value the id.
pub(crate) const OF_SESSION: &str = "context.of_session";
/// The current facts: `<project>/<subject>/<predicate>`, the value the fact.
pub(crate) const CURRENT: &str = "context.current";
/// All facts: `<project>/<subject>/<predicate>/<moment>`, the value the fact. If it has ended, the next row has the
/// same key with `/end`, the value a moment. Both are in one index, so that one read sees a supersession whole (AP-49).
/// A fact that another with the same beginning outranks follows it, under `<moment>~<fact>`.
pub(crate) const FACTS: &str = "context.facts";
/// All facts by time: `<project>/<moment>/<subject>/<predicate>`, the moment as in the last part of [`FACTS`].
pub(crate) const FACT_TIMES: &str = "context.fact_times";
/// The sessions of a project: `<project>/<moment>/<session>`.
pub(crate) const SESSIONS: &str = "context.sessions";
/// The same by callsign: `<project>/<callsign>/<moment>/<session>`.
pub(crate) const CALLSIGNS: &str = "context.callsigns";

/// The blobs of a project: `<project>/<sha256>`, the value the size in bytes.
pub(crate) const BLOBS: &str = "context.blobs";

/// Separates a moment from the id of an outranked fact; no moment contains it.
pub(crate) const BESIDE: char = '~';

/// The last part of the key of an outranked fact.
pub(crate) fn beside(valid_from: Moment, fact_id: &str) -> String {
    format!("{}{BESIDE}{}", valid_from.as_str(), key::part(fact_id))
}

/// Whether a key is of an outranked fact, which ended where it began.
pub(crate) fn is_outranked(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|last| last.contains(BESIDE) && !last.starts_with(BESIDE))
}

/// The key of a fact's end.
pub(crate) fn ended(key: &str) -> String {
    format!("{key}/end")
}
