//! Reviews by people: the packages that wait for one, and reviews that another room submits for a person. A review of
//! a package in an archived project waits until the project is unarchived.
//! Must not know: how the person is notified.

use plenary_accounts::{Actor, Authority};
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::Fault;
use serde_json::Value;

use crate::{
    Context, Failure,
    lifecycle::{ReviewType, Status},
    package::{
        command::{MovePackage, Step},
        event::{PackageEvent, PackageMoved},
    },
    rejection::Rejection,
};

/// A package that waits for a person's review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanReview {
    /// The agent that requested it; it belongs to the project's owner.
    pub by: AgentHandle,
    /// The version of the event since which it waits.
    pub since: Version,
    /// Its project, as its owner names it.
    pub project_id: String,
    /// Its id.
    pub package_id: String,
    /// Its title.
    pub title: String,
    /// The note of the request, or the description of the package.
    pub text: String,
    /// Its content in Markdown: decisions, open questions, handoff note, text.
    pub document: Option<String>,
}

/// The content of a package in Markdown: decisions, open questions, handoff note, and text, which may be long.
fn document(package: &Value) -> Option<String> {
    let mut parts = Vec::new();
    for (name, heading) in [("decisions_made", "Decisions"), ("open_questions", "Open questions")] {
        let items = package[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        let items: Vec<_> = items.map(|item| format!("- {}", item.replace('\n', "\n  "))).collect();
        if !items.is_empty() {
            parts.push(format!("## {heading}\n\n{}", items.join("\n")));
        }
    }
    parts.extend(package["handoff_note"].as_str().map(|note| format!("## Handoff\n\n{note}")));
    parts.extend(package["content_md"].as_str().map(str::to_owned));
    Some(parts.join("\n\n")).filter(|document| !document.trim().is_empty())
}

/// A waiting review, if there is one, and the versions at which a review was requested.
pub(crate) type AskedReview = (Option<HumanReview>, Vec<Version>);

impl Context {
    /// The review of a package, by the id of its stream, that waits for a person of the project's owner, requested by
    /// one of the owner's agents; and the versions at which a review was requested.
    ///
    /// # Errors
    /// The store failed.
    pub fn human_review<'a>(&'a self, id: &'a str) -> Sealed<'a, Result<AskedReview, Fault>> {
        seal(async move {
            let project = id.split_once('/').map_or("", |(project, _)| project);
            let state = self.project(project).await?;
            let history = self.history(id).await?;
            let Some(PackageEvent::PackageDeposited(deposited)) =
                history.first().map(PackageEvent::decode).transpose()?
            else {
                return Ok((None, Vec::new()));
            };
            let (mut status, mut kind, mut by) =
                (deposited.status, deposited.review_type, deposited.by.clone());
            let (mut note, mut since) = (None, history.first().map_or(Version::ZERO, |event| event.version));
            let mut requested_at = if status == Status::AwaitingReview { vec![since] } else { Vec::new() };
            for stored in history.iter().skip(1) {
                let (PackageEvent::PackageFlagged(moved) | PackageEvent::PackageReviewed(moved)) =
                    PackageEvent::decode(stored)?
                else {
                    continue;
                };
                let PackageMoved { by: mover, status: to, review_type, note: step_note, .. } = moved;
                if to != status || review_type != kind {
                    (status, kind, by, note, since) = (to, review_type, mover, step_note, stored.version);
                    if status == Status::AwaitingReview {
                        requested_at.push(since);
                    }
                }
            }
            let owner = state.owner.as_ref();
            let by = match by {
                Actor::Agent(agent) if owner.is_some_and(|owner| owner.as_str() == agent.owner()) => agent,
                Actor::Agent(_) | Actor::Owner(_) | Actor::Operator | Actor::Seed => {
                    return Ok((None, requested_at));
                }
            };
            if status != Status::AwaitingReview || kind != ReviewType::Human {
                return Ok((None, requested_at));
            }
            let package: Value = serde_json::from_slice(&deposited.raw).unwrap_or_default();
            let member = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
            let waits = HumanReview {
                project_id: self.shortest_name(&Actor::Agent(by.clone()), project, &state).await?,
                by,
                since,
                package_id: deposited.package_id,
                title: member("title").unwrap_or_default(),
                text: note.or_else(|| member("description")).unwrap_or_default(),
                document: document(&package),
            };
            Ok((Some(waits), requested_at))
        })
    }

    /// Applies the review of a person that another room has asked. A package that is no longer waiting stays
    /// unchanged. Returns `false` while the project is archived: the review can be applied later.
    ///
    /// # Errors
    /// The store failed.
    pub async fn review_for_person(
        &self,
        id: &str,
        is_complete: bool,
        note: Option<String>,
    ) -> Result<bool, Fault> {
        let status = if is_complete { Status::Complete } else { Status::RevisionRequested };
        // As the operator: the other room has checked the person's right.
        let authority = Authority { by: Actor::Operator, token: None };
        match self.move_package(id, &MovePackage { authority, step: Step::Review(status), note }).await {
            Err(Failure::Rejected(Rejection::ProjectArchived)) => Ok(false),
            Ok(_) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Ok(true),
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reviewer_sees_what_would_be_decided() {
        let package = json!({
            "content_md": "# Rules", "decisions_made": ["Remove src/old/", "Keep\nthe tests"],
            "open_questions": [], "handoff_note": "Begin with parse.rs.",
        });
        let expected = "## Decisions\n\n- Remove src/old/\n- Keep\n  the tests\n\n## Handoff\n\nBegin with parse.rs.\n\n# Rules";
        assert_eq!(document(&package).as_deref(), Some(expected));
        assert_eq!(document(&json!({"content_md": "# Rules"})).as_deref(), Some("# Rules"));
        assert_eq!(document(&json!({"title": "T", "decisions_made": null})), None);
    }
}
