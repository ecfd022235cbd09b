//! Contact requests of strangers to agents without self-service: requests to the people of the agent's owner.
//! Must not know: the content of an allowlist.

use plenary_accounts::{
    Actor, Authority, Failure,
    contact::{ContactRoom, command::AnswerContact, state::Answer},
};
use plenary_kernel::{AskId, ContactId, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_requests::{
    Allow, AnswerType, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{RequestView, SourceView},
};
use serde_json::json;

use crate::{
    Sources,
    later::Share,
    sources::{blocked_pair, line},
};

fn request_of(id: &ContactId) -> AskId {
    AskId::of_source(&format!("contacts/{id}"))
}

/// The contact request that an event makes.
fn requested(event: &StoredEvent) -> Option<ContactId> {
    let is_request = event.stream.category() == ContactRoom::STREAMS && event.version == Version::ZERO.next();
    is_request.then(|| event.stream.id().parse().ok()).flatten()
}

impl Sources {
    /// A contact was requested or answered.
    pub(crate) async fn contact_moved(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let Ok(id) = event.stream.id().parse::<ContactId>() else { return Ok(None) };
        let Some(contact) = self.0.accounts.contact_waiting(&id).await? else {
            self.0.requests.give_up(&request_of(&id)).await?;
            return Ok(None);
        };
        let known = self.0.accounts.agent(&contact.to).await?;
        if contact.from.owner() == contact.to.owner()
            || !known.state.is_live()
            || known.state.configures_itself()
        {
            return Ok(None);
        }
        let content = Content {
            title: line(&format!("{} asks {} for contact", contact.from, contact.to)),
            on_behalf_of: Some(contact.from.clone()),
            action: None,
            detail: contact.message.map(|text| Detail { text: Some(text), ..Detail::default() }),
            source: Some(SourceView { room: "accounts".into(), id: id.to_string(), url: None }),
            directory: None,
            choices: Vec::new(),
            form: None,
        };
        let command = MakeRequest {
            source: Source::Server,
            agent: contact.to,
            stranger: Some(contact.from.owner_name()),
            kind: Kind::Contact,
            to: None,
            allow: Allow { accept: true, edit: false, respond: false, ignore: true },
            deadline: None,
            on_timeout: OnTimeout::None,
            tool: None,
            directory: None,
            notifies_inbox: false,
            content: json!(content).to_string().into(),
        };
        self.ask(&request_of(&id), command).await
    }

    /// Withdraws the contact requests of two agents that a block keeps apart.
    pub(crate) async fn block_changed(&self, event: &StoredEvent) -> Result<(), Fault> {
        let Some([one, other]) = blocked_pair(event) else { return Ok(()) };
        for (from, to) in [(&one, &other), (&other, &one)] {
            if let Some(id) = self.0.accounts.unanswered_contact(from, to).await?
                && !self.0.accounts.awaits_answer(&id).await?
            {
                self.0.requests.give_up(&request_of(&id)).await?;
            }
        }
        Ok(())
    }

    /// Writes as many events for a contact request that asks nobody as for one that asks people.
    pub(crate) async fn even_out_contact(&self, event: &StoredEvent) -> Result<(), Fault> {
        let Some(id) = requested(event) else { return Ok(()) };
        if self.0.requests.read(&request_of(&id)).await?.is_some() {
            return Ok(());
        }
        self.0.accounts.withhold_request(&id).await
    }

    pub(crate) async fn answer_contact(&self, request: &RequestView) -> Result<(), Fault> {
        let id = request.source.as_ref().and_then(|source| source.id.parse::<ContactId>().ok());
        let (Some(id), Some(answer)) = (id, &request.answer) else { return Ok(()) };
        let answer = match answer.answer {
            AnswerType::Accept => Answer::Accepted,
            AnswerType::Ignore => Answer::Declined,
            AnswerType::Edit | AnswerType::Respond => return Ok(()),
        };
        // The request records the person who answered; the server itself executes the answer.
        let authority = Authority { by: Actor::Operator, token: None };
        match self.0.accounts.answer_contact(AnswerContact { authority, id, answer }).await {
            Ok(()) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Ok(()),
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }
}
