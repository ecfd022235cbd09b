//! The view of a request: the fold of its whole stream, for its people or for the requesting agent.
//! Must not know: HTTP.

use plenary_accounts::TokenOwner;
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, AskId, OwnerName, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, StoredEvent, StreamName};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Requests,
    event::{AnswerAuthor, RequestEvent, RequestMade},
    room::RequestRoom,
    state::{Progress, RequestState},
    wire::{AnswerType, AnswerView, Content, Phase, RequestView},
};

/// Whether the stream is a request's.
pub fn is_request(stream: &StreamName) -> bool {
    stream.category() == RequestRoom::CATEGORY
}

/// The owner to whose people the request of an event is addressed; `None` if the event cannot be read.
pub fn owner_of(event: &StoredEvent) -> Option<OwnerName> {
    RequestEvent::decode(event).ok().map(|event| event.subject().owner())
}

/// The arguments and text of an answer, as stored.
#[derive(Debug, Default, Clone, Deserialize)]
struct StoredAnswerText {
    #[serde(default)]
    args: Option<Map<String, Value>>,
    #[serde(default)]
    text: Option<String>,
}

/// The current state of a request.
#[derive(Debug, Clone)]
pub struct RequestReading {
    /// The view for people.
    pub view: RequestView,
    /// Whether the outcome is final, so that the agent gets it.
    pub is_settled: bool,
    /// The version of the event that made it final.
    pub settled_version: Option<Version>,
    /// Whether the agent's inbox reports the outcome.
    pub notifies_inbox: bool,
    /// Whether the server made the request by itself.
    pub by_server: bool,
    /// The other owner whose agent caused it, if one did.
    pub stranger: Option<OwnerName>,
}

impl RequestReading {
    /// The view for the requesting agent: an answer that can still be undone is omitted.
    pub fn for_agent(self) -> RequestView {
        let mut view = self.view;
        if !self.is_settled {
            (view.state, view.answer, view.snoozed_until) = (Phase::Open, None, None);
        }
        view
    }
}

fn corrupt(id: &AskId, error: &serde_json::Error) -> Fault {
    Fault::Corrupt(format!("what the request {id} says: {error}"))
}

fn view_of(id: &AskId, event: RequestMade) -> Result<RequestView, Fault> {
    let content: Content = serde_json::from_slice(&event.content).map_err(|error| corrupt(id, &error))?;
    Ok(RequestView {
        request_id: id.clone(),
        kind: event.subject.kind,
        title: content.title,
        from: event.subject.agent.clone(),
        on_behalf_of: content.on_behalf_of,
        owner: event.subject.owner(),
        to: event.to,
        action: content.action,
        detail: content.detail,
        source: content.source,
        directory: content.directory,
        allow: event.allow,
        choices: content.choices,
        form: content.form,
        created_at: event.subject.created.0,
        deadline_at: event.subject.deadline.map(|at| at.0),
        on_timeout: event.on_timeout,
        state: Phase::Open,
        snoozed_until: None,
        answer: None,
        version: 0,
    })
}

fn answer_of(by: &AnswerAuthor, answer: AnswerType, at: TimestampMs) -> AnswerView {
    let (author, rule_id) = match by {
        AnswerAuthor::Person(actor) => (actor.to_string(), None),
        AnswerAuthor::Rule(rule) => ("rule".to_owned(), Some(rule.clone())),
        AnswerAuthor::Link => ("link".to_owned(), None),
        AnswerAuthor::Deadline => ("deadline".to_owned(), None),
    };
    AnswerView {
        answer,
        args: None,
        text: None,
        by: author,
        person: None,
        rule_id,
        at: at.0,
        undo_until: None,
    }
}

/// Folds the events of a request; `None` if there are none.
pub(crate) fn fold_request(
    id: &AskId,
    events: &[StoredEvent],
    now: TimestampMs,
) -> Result<Option<RequestReading>, Fault> {
    let (mut state, mut view) = (RequestState::default(), None::<RequestView>);
    for stored_event in events {
        let event = RequestEvent::decode(stored_event)?;
        state.evolve(stored_event.version, &event);
        match event {
            RequestEvent::RequestMade(event) => view = Some(view_of(id, event)?),
            RequestEvent::RequestAnswered(event) => {
                let stored_text: StoredAnswerText =
                    serde_json::from_slice(&event.content).map_err(|error| corrupt(id, &error))?;
                if let Some(view) = &mut view {
                    let plain = answer_of(&event.by, event.answer, event.at);
                    view.answer = Some(AnswerView {
                        args: stored_text.args,
                        text: stored_text.text,
                        person: event.person,
                        undo_until: event.undo_until.map(|at| at.0),
                        ..plain
                    });
                }
            }
            RequestEvent::AnswerSettled(_) => {
                if let Some(answer) = view.as_mut().and_then(|view| view.answer.as_mut()) {
                    answer.undo_until = None;
                }
            }
            RequestEvent::AnswerUndone(_) | RequestEvent::RequestWithdrawn(_) => {
                if let Some(view) = &mut view {
                    view.answer = None;
                }
            }
            RequestEvent::RequestExpired(event) => {
                if let Some(view) = &mut view {
                    view.answer =
                        event.answer.map(|answer| answer_of(&AnswerAuthor::Deadline, answer, event.at));
                }
            }
            RequestEvent::RequestSnoozed(_)
            | RequestEvent::RequestDelegated(_)
            | RequestEvent::LinkMade(_) => {}
        }
    }
    let Some(mut view) = view else { return Ok(None) };
    view.version = state.version.0;
    view.to = state.creation.as_ref().and_then(|creation| creation.to.clone());
    let snoozed_until = state.snoozed_until.filter(|until| now < *until);
    view.state = match &state.progress {
        Progress::Open if snoozed_until.is_some() => Phase::Snoozed,
        Progress::Open => Phase::Open,
        Progress::Answered { .. } => Phase::Answered,
        Progress::Withdrawn => Phase::Withdrawn,
        Progress::Expired => Phase::Expired,
    };
    view.snoozed_until = snoozed_until.filter(|_| view.state == Phase::Snoozed).map(|until| until.0);
    let by_server = state.creation.as_ref().is_some_and(|creation| creation.by_server);
    let is_settled = state.is_settled();
    let settled_version = state.settlement.map(|settlement| settlement.version);
    let notifies_inbox = state.settlement.is_some_and(|settlement| settlement.reaches_inbox);
    let stranger = state.creation.and_then(|creation| creation.subject.stranger);
    Ok(Some(RequestReading { view, is_settled, settled_version, notifies_inbox, by_server, stranger }))
}

impl Requests {
    /// A request as it is on disk, for any reader.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn read(&self, id: &AskId) -> Result<Option<RequestReading>, Fault> {
        let events =
            self.log().read_stream(&RequestRoom::stream(id.as_str()), Version::ZERO, READ_ROWS_MAX).await?;
        fold_request(id, &events, self.now())
    }

    /// A request for callers that may see it: the agent that asks, its owner, the operator.
    pub(crate) async fn reading_for(
        &self,
        caller: &TokenOwner,
        id: &AskId,
    ) -> Result<Option<RequestReading>, Fault> {
        Ok(self.read(id).await?.filter(|reading| may_see(caller, &reading.view.from)))
    }
}

/// Whether a caller may see the requests of an agent.
pub(crate) fn may_see(caller: &TokenOwner, from: &AgentHandle) -> bool {
    match caller {
        TokenOwner::Operator => true,
        TokenOwner::Owner(owner) => owner.as_str() == from.owner(),
        TokenOwner::Agent(agent) => agent == from,
    }
}

/// The view for a caller that may see the request.
pub(crate) fn view_for(caller: &TokenOwner, reading: RequestReading) -> RequestView {
    match caller {
        TokenOwner::Operator | TokenOwner::Owner(_) => reading.view,
        TokenOwner::Agent(_) => reading.for_agent(),
    }
}
