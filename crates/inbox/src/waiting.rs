//! Waiting for news: woken by commits, ended by a deadline, or by the end of the token or of the server.
//! Must not know: the news.

use std::time::Duration;

use plenary_accounts::{AgentCaller, Principal, TokenOwner};
use plenary_kernel::SessionId;
use plenary_log::Fault;
use tokio::time::{Instant, sleep_until};

use crate::{
    Inbox, WAITS_PER_AGENT_MAX,
    marks::State,
    reading::Ask,
    refusals::{InboxRefusal, Rejection},
    wire::{MessageStatus, Page},
};

/// How often is looked again whether nothing was said of it.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(15);
/// How often the marks of a message's recipients are looked at while somebody waits for them.
pub(crate) const LOOK_AT_MARKS_AFTER: Duration = Duration::from_millis(500);

impl Inbox {
    /// A page as soon as there is an item at least, or an empty one at the deadline.
    pub(crate) async fn wait(
        &self,
        caller: &AgentCaller,
        ask: &Ask<'_>,
        timeout: Duration,
    ) -> Result<Page, InboxRefusal> {
        let deadline = Instant::now() + timeout;
        let desk = self.0.desks.open(&caller.handle);
        let Some(_place) = desk.wait(WAITS_PER_AGENT_MAX) else { return Err(Rejection::TooManyWaits.into()) };
        let (mut changed, mut closed) = (desk.listen(), self.0.closed.subscribe());
        loop {
            // Before the look, so that nothing that comes after it goes unheard.
            changed.mark_unchanged();
            if *closed.borrow_and_update() {
                return Err(Rejection::Stopping.into());
            }
            if !self.is_valid(caller).await? {
                return Err(Rejection::Revoked.into());
            }
            let page = self.page(&caller.handle, ask).await?;
            if !page.items.is_empty() {
                return Ok(page);
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = closed.changed() => {}
                // What was handed to a session that is silent comes back without anybody being told.
                () = sleep_until(deadline.min(Instant::now() + LOOK_AGAIN_AFTER)) => {
                    if Instant::now() >= deadline {
                        return Ok(Page { timed_out: true, ..page });
                    }
                }
            }
        }
    }

    /// What has become of a message, as soon as it has come so far with everybody, or at the deadline; `None` when it is not
    /// there for the caller.
    pub(crate) async fn wait_status(
        &self,
        caller: &AgentCaller,
        (id, sequence): (&SessionId, u64),
        until: State,
        timeout: Duration,
    ) -> Result<Option<MessageStatus>, InboxRefusal> {
        let deadline = Instant::now() + timeout;
        let desk = self.0.desks.open(&caller.handle);
        let Some(_place) = desk.wait(WAITS_PER_AGENT_MAX) else { return Err(Rejection::TooManyWaits.into()) };
        // An answer is news of the caller. Marks of others wake nobody here: they are looked at again.
        let (mut changed, mut closed) = (desk.listen(), self.0.closed.subscribe());
        loop {
            changed.mark_unchanged();
            if *closed.borrow_and_update() {
                return Err(Rejection::Stopping.into());
            }
            if !self.is_valid(caller).await? {
                return Err(Rejection::Revoked.into());
            }
            let Some(status) = self.status(&caller.handle, id, sequence).await? else { return Ok(None) };
            if status.recipients.iter().all(|recipient| recipient.state >= until) {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(Some(MessageStatus { timed_out: true, ..status }));
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = closed.changed() => {}
                () = sleep_until(deadline.min(Instant::now() + LOOK_AT_MARKS_AFTER)) => {}
            }
        }
    }

    pub(crate) async fn is_valid(&self, caller: &AgentCaller) -> Result<bool, Fault> {
        let principal = Principal { who: TokenOwner::Agent(caller.handle.clone()), token: caller.token };
        self.0.rooms.accounts.is_valid(&principal).await
    }
}
