//! Invitations by agents of the same owner, which a hook accepts: connecting a coding agent implies consent.
//! Must not know: the output, and its time.

use plenary_client::{Client, Error, inbox::InboxPage};
use plenary_kernel::{
    SessionId,
    inbox::{JOINS_MAX, invites_to_message, sibling_invitation},
};
use serde_json::Value;

/// One invitation, as the inbox gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invitation {
    session: SessionId,
    item: Value,
}

impl Invitation {
    /// The invitations of a page from agents of the same owner.
    pub(super) fn of_siblings(page: &InboxPage) -> Vec<Self> {
        let invited = page.items.iter().filter_map(|item| {
            let session = sibling_invitation(item)?.parse().ok()?;
            Some(Self { session, item: item.clone() })
        });
        invited.take(JOINS_MAX).collect()
    }

    /// The sibling invitations whose session has a message.
    pub(super) fn with_messages(page: &InboxPage) -> Vec<Self> {
        let mut invited = Self::of_siblings(page);
        invited.retain(|invited| invites_to_message(&invited.item));
        invited
    }

    /// The sessions of these invitations.
    pub(super) fn sessions(invited: &[Self]) -> Vec<SessionId> {
        invited.iter().map(|invited| invited.session.clone()).collect()
    }

    /// The invitations whose sessions have no message in the page.
    pub(super) fn silent(mut invited: Vec<Self>, page: &InboxPage) -> Vec<Self> {
        let has_message =
            |session: &SessionId| page.items.iter().any(|item| item["ref"]["session_id"] == session.as_str());
        invited.retain(|invited| !has_message(&invited.session));
        invited
    }

    /// The items of these invitations.
    pub(super) fn items(invited: Vec<Self>) -> Vec<Value> {
        invited.into_iter().map(|invited| invited.item).collect()
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
    use plenary_kernel::inbox::CODING_SESSION_TOPIC;
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
        assert_eq!(Invitation::silent(invited.clone(), &page(&json!([]))), invited);
        let mut addressed = item("session.invited", "same_owner", 1, 1);
        addressed["subject"] = json!(format!("{CODING_SESSION_TOPIC}4f1c"));
        assert_eq!(Invitation::with_messages(&page(&json!([addressed]))).len(), 1, "to one session by name");
        let many: Vec<Value> = (0..9).map(|n| item("session.invited", "same_owner", n, 1)).collect();
        assert_eq!(Invitation::of_siblings(&page(&many.into())).len(), JOINS_MAX, "past their number");
    }
}
