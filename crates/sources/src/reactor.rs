//! Handles the relevant events in the order of the log, at least once.
//! Must not know: the effects.

use plenary_log::{Fault, StoredEvent};
use tokio_util::sync::CancellationToken;

use crate::{
    Sources,
    later::Share,
    sources::{Concern, concern, deleted_agent},
};

impl Sources {
    /// Handles events until the server stops, and retries after a fault.
    pub(crate) async fn react(&self, stop: CancellationToken) {
        let see_to = |event: StoredEvent| {
            let sources = self.clone();
            async move { sources.see_to(&event).await }
        };
        let reacting = async {
            tokio::join!(self.0.reactor.react(see_to), self.retry_all_postponed());
        };
        stop.run_until_cancelled(reacting).await;
    }

    async fn see_to(&self, event: &StoredEvent) -> Result<(), Fault> {
        if let Some(share) = self.handle_event(event).await? {
            self.put_off(&share, event).await?;
        }
        self.even_out_contact(event).await
    }

    /// Handles an event; returns the full share if there is no room for its request, or if its answer must wait.
    pub(crate) async fn handle_event(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        match concern(event) {
            Some(Concern::Run) => self.run_moved(event).await,
            Some(Concern::Contact) => self.contact_moved(event).await,
            Some(Concern::Block) => self.block_changed(event).await.map(|()| None),
            Some(Concern::Deletion) => self.agent_deleted(event).await.map(|()| None),
            Some(Concern::Package) => self.package_moved(event).await,
            Some(Concern::Invitation) => self.invitation_moved(event).await,
            Some(Concern::Answer) => self.answered(event).await,
            None => Ok(None),
        }
    }

    /// Nobody waits for the answers to a deleted agent.
    async fn agent_deleted(&self, event: &StoredEvent) -> Result<(), Fault> {
        match deleted_agent(event) {
            Some(agent) => self.0.requests.give_up_of(&agent).await,
            None => Ok(()),
        }
    }

    /// A final answer: passes it to the room that the request came from.
    async fn answered(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let Ok(id) = event.stream.id().parse() else { return Ok(None) };
        let Some(seen) = self.0.requests.read(&id).await?.filter(|seen| seen.by_server && seen.is_settled)
        else {
            return Ok(None);
        };
        match seen.view.kind {
            plenary_requests::Kind::RunInput => self.answer_run(&seen.view).await,
            plenary_requests::Kind::Contact => self.answer_contact(&seen.view).await,
            plenary_requests::Kind::Review => return self.answer_review(&seen.view).await,
            plenary_requests::Kind::Invitation => self.answer_invitation(&seen.view).await,
            plenary_requests::Kind::Hold => match seen.view.source.as_ref().map(|source| &*source.room) {
                Some("sessions") => self.answer_held_invitation(&seen.view).await,
                Some(_) | None => self.answer_hold(&seen.view).await,
            },
            plenary_requests::Kind::Permission | plenary_requests::Kind::Question => Ok(()),
        }?;
        Ok(None)
    }
}
