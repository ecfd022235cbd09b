//! The request events that `/watch` reports: to the requesting agent and its owner.
//! Must not know: how they are sent.

use plenary_engine::Room as _;
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Onlooker, OnlookerEvent, Teller, async_trait, excerpt};
use serde_json::{Value, json};

use crate::{Requests, event::RequestEvent, room::RequestRoom};

#[async_trait]
impl Teller for Requests {
    fn room(&self) -> &'static str {
        "requests"
    }

    fn tells_of(&self, stream: &StreamName) -> bool {
        stream.category() == RequestRoom::CATEGORY
    }

    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        RequestEvent::decode(event).map(|decoded| {
            let id = event.stream.id();
            let subject = decoded.subject().clone();
            let mut data = json!({"request_id": id, "kind": subject.kind, "from": subject.agent});
            let kind = name_of(&decoded, &mut data);
            let agents = vec![subject.agent.clone()];
            let audience = move |onlooker: &Onlooker| onlooker.has(&subject.agent);
            Some(OnlookerEvent::new(kind, id, agents, data, audience))
        })
    }
}

/// The event's name; also adds the data for a list entry.
fn name_of(event: &RequestEvent, data: &mut Value) -> &'static str {
    match event {
        RequestEvent::RequestMade(event) => {
            let content: Value = serde_json::from_slice(&event.content).unwrap_or_default();
            data["title"] = excerpt(content["title"].as_str().unwrap_or_default()).into();
            data["deadline_at"] = json!(event.subject.deadline);
            "request.made"
        }
        RequestEvent::RequestAnswered(event) => {
            data["answer"] = json!(event.answer);
            data["undo_until"] = json!(event.undo_until);
            "request.answered"
        }
        RequestEvent::AnswerSettled(_) => "request.settled",
        RequestEvent::AnswerUndone(_) => "request.undone",
        RequestEvent::RequestSnoozed(_) => "request.snoozed",
        RequestEvent::RequestDelegated(_) => "request.delegated",
        RequestEvent::RequestWithdrawn(_) => "request.withdrawn",
        RequestEvent::RequestExpired(_) => "request.expired",
        RequestEvent::LinkMade(_) => "request.link_made",
    }
}
