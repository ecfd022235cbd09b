//! The account events that `/watch` reports: an owner's own, and for both sides of a contact request the permitted
//! part.
//! Must not know: how they are sent.

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Onlooker, OnlookerEvent, Teller, async_trait, excerpt};
use serde_json::{Value, json};

use crate::{
    Accounts, OwnerRoom,
    agent::{AgentRoom, event::AgentEvent},
    console::{ConsoleRoom, IssuerSubject, event::ConsoleEvent},
    contact::{ContactRoom, event::ContactEvent},
    owner::event::OwnerEvent,
};

#[async_trait]
impl Teller for Accounts {
    fn room(&self) -> &'static str {
        "accounts"
    }

    fn tells_of(&self, stream: &StreamName) -> bool {
        let categories =
            [OwnerRoom::CATEGORY, AgentRoom::CATEGORY, ContactRoom::CATEGORY, ConsoleRoom::CATEGORY];
        categories.contains(&stream.category())
    }

    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        onlooker_event(event)
    }
}

fn onlooker_event(event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
    let id = event.stream.id();
    match event.stream.category() {
        OwnerRoom::CATEGORY => {
            let kind = match OwnerEvent::decode(event)? {
                OwnerEvent::OwnerRegistered(_) => "owner.created",
                OwnerEvent::OwnerTokenSet(_) => "owner.token_set",
            };
            Ok(id.parse().ok().map(|owner| of_owner(kind, owner, json!({"owner": id}))))
        }
        ConsoleRoom::CATEGORY => {
            let (kind, data) = match ConsoleEvent::decode(event)? {
                ConsoleEvent::SignedIn(event) => ("console.signed_in", json!({"session_id": event.session})),
                ConsoleEvent::PasskeyUsed(event) => {
                    ("console.signed_in", json!({"session_id": event.session}))
                }
                ConsoleEvent::SignedInAtIssuer(event) => {
                    let IssuerSubject { issuer, subject, shown } = event.identity;
                    let data = json!({
                        "session_id": event.session, "issuer": issuer, "subject": subject, "shown": shown
                    });
                    ("console.signed_in", data)
                }
                ConsoleEvent::SignedOut(event) => {
                    ("console.signed_out", json!({"session_id": event.session}))
                }
                ConsoleEvent::PasskeyAdded(event) => {
                    ("console.passkey_added", json!({"passkey_id": event.passkey}))
                }
                ConsoleEvent::PasskeyRemoved(event) => {
                    ("console.passkey_removed", json!({"passkey_id": event.passkey}))
                }
                ConsoleEvent::LinkMade(_) | ConsoleEvent::SessionUsed(_) => return Ok(None),
            };
            let owner = id.strip_prefix('~').and_then(|owner| owner.parse().ok());
            Ok(Some(match owner {
                Some(owner) => of_owner(kind, owner, data),
                None => among(kind, id, Vec::new(), data),
            }))
        }
        AgentRoom::CATEGORY => {
            let Ok(agent) = id.parse::<AgentHandle>() else { return Ok(None) };
            let kind = match AgentEvent::decode(event)? {
                AgentEvent::AgentRegistered(_) => "agent.created",
                AgentEvent::AgentConfigured(_)
                | AgentEvent::EntriesAllowed(_)
                | AgentEvent::EntriesDisallowed(_)
                | AgentEvent::AgentBlocked(_)
                | AgentEvent::AgentUnblocked(_) => "agent.updated",
                AgentEvent::TokenRotated(_) => "agent.token_rotated",
                AgentEvent::TokenIssued(_) => "agent.token_issued",
                AgentEvent::TokensEnded(_) => "agent.token_ended",
                AgentEvent::GrantRenewed(_) => return Ok(None),
                AgentEvent::AgentDeleted(_) => "agent.deleted",
            };
            let data = json!({"handle": agent});
            Ok(Some(among(kind, id, vec![agent], data)))
        }
        ContactRoom::CATEGORY => Ok(contact(id, ContactEvent::decode(event)?)),
        _ => Ok(None),
    }
}

/// The outcome of a contact request. One side may not know that the other exists.
fn contact(id: &str, event: ContactEvent) -> Option<OnlookerEvent> {
    let (kind, knowing, from, to, message) = match event {
        ContactEvent::ContactRequested(event) => {
            let mut knowing = vec![event.from.clone()];
            knowing.extend((!event.withheld).then(|| event.to.clone()));
            ("contact.requested", knowing, event.from, event.to, event.message)
        }
        ContactEvent::ContactAccepted(event) => {
            let mut knowing = vec![event.to.clone()];
            knowing.extend((!event.withheld).then(|| event.from.clone()));
            ("contact.accepted", knowing, event.from, event.to, None)
        }
        ContactEvent::ContactDeclined(event) => {
            ("contact.declined", vec![event.to.clone()], event.from, event.to, None)
        }
        ContactEvent::ContactRepeated(_) => return None,
    };
    let message = message.as_deref().map(excerpt);
    let data = json!({"request_id": id, "from": from, "to": to, "message": message});
    Some(among(kind, id, knowing, data))
}

/// The part for the agents and their owners.
fn among(kind: &str, stream: &str, agents: Vec<AgentHandle>, data: Value) -> OnlookerEvent {
    let knowing = agents.clone();
    let audience = move |onlooker: &Onlooker| knowing.iter().any(|agent| onlooker.has(agent));
    OnlookerEvent::new(kind, stream, agents, data, audience)
}

/// The part for an owner, but not for its agents.
fn of_owner(kind: &str, owner: OwnerName, data: Value) -> OnlookerEvent {
    let stream = owner.to_string();
    let audience = move |onlooker: &Onlooker| onlooker.owner() == Some(&owner);
    OnlookerEvent::new(kind, stream, Vec::new(), data, audience)
}
