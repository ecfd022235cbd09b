//! Invitations by agents of the same owner, which a coding agent accepts automatically: connecting it implies
//! consent.
//! Must not know: the output, and its time.

use plenary_client::{Client, Error, inbox::InboxPage};
use plenary_kernel::{SessionId, inbox::CODING_SESSION_TOPIC};
use serde_json::Value;

/// Maximum number of sessions joined at once; more are joined at the next event.
const JOINS_MAX: usize = 5;

/// One invitation, as the inbox gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invitation {
    session: SessionId,
    item: Value,
}

impl Invitation {
    /// The invitations of a page from agents of the same owner.
    pub(super) fn of_siblings(page: &InboxPage) -> Vec<Self> {
        let theirs = page
            .items
            .iter()
            .filter(|item| item["kind"] == "session.invited" && item["trust"] == "same_owner");
        let invited = theirs.filter_map(|item| {
            let session = item["ref"]["session_id"].as_str()?.parse().ok()?;
            Some(Self { session, item: item.clone() })
        });
        invited.take(JOINS_MAX).collect()
    }

    /// The sibling invitations whose session has a message: one before the invitation, or one for a named coding session,
    /// for which a session was created first. Joining delivers it at once.
    pub(super) fn with_messages(page: &InboxPage) -> Vec<Self> {
        let mut invited = Self::of_siblings(page);
        invited.retain(|invited| {
            let is_later = invited.item["ref"]["sequence"].as_u64().is_some_and(|sequence| sequence > 1);
            let topic = invited.item["subject"].as_str().unwrap_or_default();
            is_later || topic.starts_with(CODING_SESSION_TOPIC)
        });
        invited
    }

    /// The sessions of these invitations.
    pub(super) fn sessions(invited: &[Self]) -> Vec<SessionId> {
        invited.iter().map(|invited| invited.session.clone()).collect()
    }

    /// The items of invitations whose sessions have no message in the page.
    pub(super) fn silent(invited: Vec<Self>, page: &InboxPage) -> Vec<Value> {
        let has_message =
            |session: &SessionId| page.items.iter().any(|item| item["ref"]["session_id"] == session.as_str());
        invited
            .into_iter()
            .filter(|invited| !has_message(&invited.session))
            .map(|invited| invited.item)
            .collect()
    }
}

/// Joins the sessions. Skips one that has ended, or whose invitation was withdrawn.
pub(super) async fn join(client: &Client, sessions: &[SessionId]) -> Result<(), Error> {
    for session in sessions {
        match client.join_session(session).await {
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(items: &Value) -> InboxPage {
        serde_json::from_value(json!({"items": items, "unread": 9, "cursor": "c", "more": false})).unwrap()
    }

    fn item(kind: &str, trust: &str, session: u64, sequence: u64) -> Value {
        let session = format!("sess_{session:026}");
        json!({"kind": kind, "trust": trust, "ref": {"session_id": session, "sequence": sequence}})
    }

    #[test]
    fn siblings_are_joined_and_others_are_not() {
        let inbox = page(&json!([
            item("session.invited", "same_owner", 1, 1),
            item("session.invited", "same_owner", 2, 2),
            item("session.invited", "allowlisted", 3, 2),
            item("session.message", "same_owner", 4, 2),
        ]));
        assert_eq!(Invitation::of_siblings(&inbox).len(), 2);
        let invited = Invitation::with_messages(&inbox);
        assert_eq!(invited.len(), 1);
        assert!(Invitation::silent(invited.clone(), &inbox).is_empty());
        assert_eq!(Invitation::silent(invited.clone(), &page(&json!([]))), [invited[0].item.clone()]);
        let mut addressed = item("session.invited", "same_owner", 1, 1);
        addressed["subject"] = json!(format!("{CODING_SESSION_TOPIC}4f1c"));
        assert_eq!(Invitation::with_messages(&page(&json!([addressed]))).len(), 1, "to one session by name");
        let many: Vec<Value> = (0..9).map(|n| item("session.invited", "same_owner", n, 1)).collect();
        assert_eq!(Invitation::of_siblings(&page(&many.into())).len(), JOINS_MAX, "past their number");
    }
}
